# bash completion of gover-ctl: gover-ctl itself lists the candidates.
# shellcheck shell=bash
_gover_ctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} line
	local -a lines
	COMPREPLY=()
	[[ $cur != = ]] || cur=
	mapfile -t lines < <(gover-ctl __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	for line in "${lines[@]}"; do
		case $line in
		:files) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		:nospace) compopt -o nospace ;;
		:command\ *) # bash-completion has _command_offset
			if declare -F _command_offset >/dev/null; then
				_command_offset "${line#* }"
			else
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			fi
			;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done
}
complete -F _gover_ctl gover-ctl
