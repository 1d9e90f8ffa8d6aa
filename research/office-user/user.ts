import type { OfficeTask } from "../../extensions/office/task.ts";

/** A message as both sides of a conversation see it: no calls, no results. */
export interface Said {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** A user that is simulated: it knows the wishes of a task, and nothing of the office. */
export interface SimulatedUser {
  /**
   * Returns the user's next message, or undefined once it has nothing more to say.
   * @param said the conversation so far, empty before the first message
   * @param seed of the episode: the same conversation and seed get the same answer
   */
  next(task: OfficeTask, said: readonly Said[], seed: number): string | undefined | Promise<string | undefined>;
}

/**
 * A user without a model, by the conversation alone: it puts its requests one after the other, and answers a question with the person that it
 * means, or that it does not know. One question a request; a second one is taken for an answer.
 */
export const scriptedUser: SimulatedUser = {
  next({ requests }, said) {
    let [request, asked] = [0, false];
    let answer = requests[0]?.text;
    for (const { content } of said.filter(({ role }) => role === "assistant")) {
      const current = requests[request];
      if (content.includes("?") && !asked) {
        asked = true;
        answer = current?.meant ?? "I do not know.";
      } else {
        asked = false;
        answer = requests[++request]?.text;
      }
    }
    return answer;
  },
};
