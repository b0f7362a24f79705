/* SPDX-License-Identifier: MIT */
/* Finds the known word that is nearest to a mistyped word. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

/* Two words with this many differences or more are not similar. */
#define NEAREST_FAR 3

/*
 * Compares @candidate with @word. If their distance is less than *best and at most half the length
 * of @word, sets *guess to @candidate and *best to the distance. Before the first call, the caller
 * sets *best to NEAREST_FAR.
 */
void nearest_offer(const char *word, const char *candidate, int *best, const char **guess);

/*
 * Returns the number of letters to change, add, remove or swap to turn @a into @b, at most
 * NEAREST_FAR.
 */
int nearest_distance(const char *a, const char *b);

#endif
