/* SPDX-License-Identifier: MIT */
/* Which word did somebody mean who typed another one? */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

/* More than this many slips apart is another word. */
#define NEAREST_FAR 3

/* Takes @candidate as *guess when it is nearer to @word than *best, which begins as NEAREST_FAR,
 * and at least half of @word is right. */
void nearest_offer(const char *word, const char *candidate, int *best, const char **guess);

/* Letters to change, add, drop or swap to make one of the other; NEAREST_FAR when that many or
 * more. */
int nearest_distance(const char *a, const char *b);

#endif
