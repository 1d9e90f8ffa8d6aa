/** The longest time that a timer can wait, in milliseconds: 24.8 days. Node's timers fire at once for longer ones (its documentation of setTimeout). */
export const longestTimer = 2 ** 31 - 1;
