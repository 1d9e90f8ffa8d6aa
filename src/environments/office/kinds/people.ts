import { act, close, findPerson, findPersonHabits, lookUpHabits, lookUpPerson, pay as payContact } from "../expert.ts";
import { type Draft, type DrawnPerson, drawPerson, type Kind, type Scene, type Topic } from "../kind.ts";
import { greetings } from "../vocabulary.ts";

type Deed = NonNullable<Topic["deed"]>;

/** A request that looks a person up and does something to them, which can be done to another person next. */
function deedFor(person: DrawnPerson, words: Draft["words"], deed: Deed): Draft {
  return {
    words: { person: person.said, ...words },
    meant: person.meant,
    topic: { person: person.said, deed },
    *solve(mind) {
      return yield* deed(mind, yield* findPerson(mind, person.said));
    },
  };
}

/** Mostly affordable; now and then, and always where little is left, more than the account has. */
function drawAmount({ world: { balance }, random }: Scene): number {
  const affordable = Math.min(balance, 40) - 9;
  if (balance < 99 && (affordable < 1 || random.chance(0.15)))
    return Math.max(10, balance + 1) + random.integer(99 - Math.max(9, balance));
  return 10 + random.integer(affordable);
}

const payment =
  (amount: number): Deed =>
  (mind, id) =>
    payContact(mind, id, amount);
const sending =
  (text: string): Deed =>
  (mind, id) =>
    act(mind, "send_message", { id, text });

export const pay: Kind = {
  phrasings: ["Pay {person} {amount}.", "Send {amount} to {person}.", "Give {person} {amount}, please."],
  habits: [...findPersonHabits, "overdraw"],
  leaves: ["person", "deed"],
  draw(scene) {
    const amount = drawAmount(scene);
    return deedFor(drawPerson(scene), { amount }, payment(amount));
  },
};

export const message: Kind = {
  phrasings: ["Tell {person}: {text}.", "Send {person} the message {text}.", "Write {text} to {person}."],
  habits: findPersonHabits,
  leaves: ["person", "deed"],
  draw(scene) {
    const text = scene.random.pick(greetings);
    return deedFor(drawPerson(scene), { text }, sending(text));
  },
};

export const same: Kind = {
  phrasings: ["The same for {person}.", "Do the same for {person}.", "And the same for {person}, please."],
  habits: ["same", ...lookUpHabits, "overdraw"],
  needs: "deed",
  leaves: ["person", "deed"],
  draw(scene) {
    const { deed, person: before } = scene.topic;
    if (deed === undefined) return undefined;
    const person = drawPerson(scene, { except: before });
    return {
      ...deedFor(person, {}, deed),
      *solve(mind) {
        if (mind.contact !== undefined && mind.slips("same")) return yield* deed(mind, mind.contact);
        return yield* deed(mind, yield* lookUpPerson(mind, person.said));
      },
    };
  },
};

/** Something more for the person who was just talked about: no new look-up. */
function more(person: string, words: Draft["words"], deed: Deed): Draft {
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

export const alsoPay: Kind = {
  phrasings: ["Also pay them {amount}.", "Pay them {amount} too.", "And pay them {amount}."],
  habits: ["ask", "busy", "overdraw"],
  needs: "person",
  leaves: ["person", "deed"],
  draw(scene) {
    const { person } = scene.topic;
    if (person === undefined) return undefined;
    const amount = drawAmount(scene);
    return more(person, { amount }, payment(amount));
  },
};
