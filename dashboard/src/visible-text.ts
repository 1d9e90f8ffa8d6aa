/** Characters that steer or hide text: controls, directions, zero widths, halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are meant
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\p{Cs}/gu;

/** Spaces and lines stay; what would steer or hide text is shown as a sign. */
export function visible(text: string): string {
  return text.replace(steering, "\ufffd");
}
