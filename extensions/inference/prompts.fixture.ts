import { join } from "node:path";
import { makeChat } from "../../src/chat/chat.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";

export const folder = join(import.meta.dirname, "../../models/office");
export const chat = makeChat(loadTokenizer(folder));
/** Words of random letters: no piece of them comes again. */
export const text = (length: number) => {
  let [state, words] = [1, ""];
  for (let i = 0; i < length; i++) {
    state = (state * 48_271) % 2_147_483_647;
    words += i % 6 === 5 ? " " : String.fromCharCode(97 + (state % 26));
  }
  return words;
};
export const user = (content: string) => [{ role: "user", content }] as const;
