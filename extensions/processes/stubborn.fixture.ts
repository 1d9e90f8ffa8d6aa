/** A shell program that ignores every signal it can and its input, as its child does. Writes the numbers of both. */
export const stubborn = `trap "" TERM INT HUP; sleep 1000 & echo $$ $!; wait; while :; do sleep 1000; done`;
