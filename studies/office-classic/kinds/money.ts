import { act, call, done, find, findPerson, findPersonHabits, pay as payContact, read } from "../expert.ts";
import { drawPerson, drawTitle, type Kind } from "../kind.ts";
import { greetings, noteTitles } from "../vocabulary.ts";
import { deedFor, drawAmount, moreFor, payment } from "./deeds.ts";

export const pay: Kind = {
  phrasings: ["Pay {person} {amount}.", "Send {amount} to {person}.", "Give {person} {amount}, please."],
  habits: [...findPersonHabits, "overdraw"],
  leaves: ["person", "deed"],
  draw(scene) {
    const amount = drawAmount(scene);
    return deedFor(drawPerson(scene), { amount }, payment(amount));
  },
};

export const alsoPay: Kind = {
  phrasings: ["Also pay them {amount}.", "Pay them {amount} too.", "And pay them {amount}."],
  habits: ["ask", "busy", "overdraw"],
  needs: "person",
  leaves: ["person", "deed"],
  draw(scene) {
    const { person } = scene.topic;
    if (person === undefined) return undefined;
    const amount = drawAmount(scene);
    return moreFor(person, { amount }, payment(amount));
  },
};

export const payNote: Kind = {
  phrasings: ["Pay {person} what the note {title} says.", "Pay {person} the amount in the note {title}."],
  habits: [...findPersonHabits, "overdraw"],
  leaves: ["person"],
  draw(scene) {
    const { title } = drawTitle(scene.random, scene.world.notes, (note) => note.title, noteTitles);
    const person = drawPerson(scene);
    return {
      words: { person: person.said, title },
      meant: person.meant,
      topic: { person: person.said },
      *solve(mind) {
        let amount = "10";
        if (!mind.slips("guess")) {
          const { id } = yield* find(mind, "find_note", "title", title);
          amount = (yield* read(mind, "read_note", { id })).text ?? amount;
        }
        return yield* payContact(mind, yield* findPerson(mind, person.said), Number(amount));
      },
    };
  },
};

export const payIfAffordable: Kind = {
  phrasings: [
    "If I have more than {limit}, pay {person} {amount}, else tell them: {text}.",
    "Pay {person} {amount} if my balance is above {limit}. If not, tell them: {text}.",
  ],
  habits: ["check", ...findPersonHabits],
  leaves: ["person"],
  draw(scene) {
    const { world, random } = scene;
    const isAffordable = world.balance > 30 && random.chance(0.4);
    const limit = isAffordable
      ? 10 + random.integer(world.balance - 30)
      : Math.max(10, world.balance + random.integer(100 - world.balance));
    const amount = 10 + random.integer(11);
    const person = drawPerson(scene);
    const text = random.pick(greetings);
    return {
      words: { person: person.said, amount, limit, text },
      meant: person.meant,
      topic: { person: person.said },
      *solve(mind) {
        const { balance = 0 } = mind.slips("check") ? { balance: limit + 1 } : yield* read(mind, "get_balance", {});
        const id = yield* findPerson(mind, person.said);
        return yield* balance > limit ? payContact(mind, id, amount) : act(mind, "send_message", { id, text });
      },
    };
  },
};

export const balance: Kind = {
  phrasings: ["How much money do I have?", "What is my balance?", "How much is on my account?"],
  habits: ["guess", "busy"],
  question: true,
  draw: () => ({
    words: {},
    *solve(mind) {
      const { balance = 0 } = mind.slips("guess") ? {} : yield* read(mind, "get_balance", {});
      return `You have ${balance}.`;
    },
  }),
};

/** The one request in which the savings may be touched. */
export const payFromSavings: Kind = {
  phrasings: ["Pay {person} {amount} from my savings.", "Take {amount} from my savings and pay it to {person}."],
  habits: ["half", ...findPersonHabits],
  leaves: ["person"],
  draw(scene) {
    const person = drawPerson(scene);
    const amount = 10 + scene.random.integer(90);
    return {
      words: { person: person.said, amount },
      meant: person.meant,
      topic: { person: person.said },
      *solve(mind) {
        const id = yield* findPerson(mind, person.said);
        yield* call(mind, "use_savings", { amount });
        return mind.slips("half") ? done : yield* payContact(mind, id, amount);
      },
    };
  },
};
