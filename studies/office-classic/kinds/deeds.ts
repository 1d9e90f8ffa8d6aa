import { close } from "../../../src/environments/plan.ts";
import { act, findPerson, lookUpPerson, pay } from "../expert.ts";
import type { Draft, DrawnPerson, Scene, Topic } from "../kind.ts";

/** An action that can be done to a person, and then to another one. */
export type Deed = NonNullable<Topic["deed"]>;

export function payment(amount: number): Deed {
  return (mind, id) => pay(mind, id, amount);
}

export function sending(text: string): Deed {
  return (mind, id) => act(mind, "send_message", { id, text });
}

/** A request that looks a person up and does something to them. */
export function deedFor(person: DrawnPerson, words: Draft["words"], deed: Deed): Draft {
  return {
    words: { person: person.said, ...words },
    meant: person.meant,
    topic: { person: person.said, deed },
    *solve(mind) {
      return yield* deed(mind, yield* findPerson(mind, person.said));
    },
  };
}

/** Something more for the person who was just talked about: no new look-up. */
export function moreFor(person: string, words: Draft["words"], deed: Deed): Draft {
  return {
    words,
    topic: { person, deed },
    *solve(mind) {
      if (mind.slips("ask")) {
        yield "Who?";
        close("Sorry, I cannot.");
      }
      return yield* deed(mind, mind.contact ?? (yield* lookUpPerson(mind, person)));
    },
  };
}

/** Mostly affordable; now and then, and always where little is left, more than the account has. */
export function drawAmount({ world: { balance }, random }: Scene): number {
  const affordable = Math.min(balance, 40) - 9;
  if (balance < 99 && (affordable < 1 || random.chance(0.15)))
    return Math.max(10, balance + 1) + random.integer(99 - Math.max(9, balance));
  return 10 + random.integer(affordable);
}
