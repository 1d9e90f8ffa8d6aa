import pc from "picocolors";

/** Colours and weights of text; plain where they would not be seen. */
export type Paint = ReturnType<typeof pc.createColors>;

export const plain: Paint = pc.createColors(false);

/** NO_COLOR and FORCE_COLOR decide, then whether the stream is a terminal. */
export function paintFor(stream: { readonly isTTY?: boolean }): Paint {
  const { NO_COLOR, FORCE_COLOR } = process.env;
  return pc.createColors(NO_COLOR ? false : FORCE_COLOR ? FORCE_COLOR !== "0" : stream.isTTY === true);
}
