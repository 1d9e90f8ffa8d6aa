import { close } from "../../../src/environments/plan.ts";
import { act, done, findPerson, findPersonHabits, list, lookUpHabits, lookUpPerson, make, read } from "../expert.ts";
import { drawMissing, drawPerson, firstName, type Kind, notCalled } from "../kind.ts";
import { firstNames, greetings, noteTitles, surnames } from "../vocabulary.ts";
import { deedFor, moreFor, sending } from "./deeds.ts";

export const message: Kind = {
  phrasings: ["Tell {person}: {text}.", "Send {person} the message {text}.", "Write {text} to {person}."],
  habits: findPersonHabits,
  leaves: ["person", "deed"],
  draw(scene) {
    const text = scene.random.pick(greetings);
    return deedFor(drawPerson(scene), { text }, sending(text));
  },
};

export const alsoTell: Kind = {
  phrasings: ["Also tell them: {text}.", "Write them {text} too.", "And tell them {text}."],
  habits: ["ask", "busy"],
  needs: "person",
  leaves: ["person", "deed"],
  draw({ random, topic: { person } }) {
    if (person === undefined) return undefined;
    const text = random.pick(greetings);
    return moreFor(person, { text }, sending(text));
  },
};

/** The request to do for another person what was done to one. */
export const same: Kind = {
  phrasings: ["The same for {person}.", "Do the same for {person}.", "And the same for {person}, please."],
  habits: ["same", ...lookUpHabits, "overdraw"],
  needs: "deed",
  leaves: ["person", "deed"],
  draw(scene) {
    const { deed, person: before } = scene.topic;
    if (deed === undefined) return undefined;
    const person = drawPerson(scene, { among: notCalled(before) });
    return {
      ...deedFor(person, {}, deed),
      *solve(mind) {
        if (mind.contact !== undefined && mind.slips("same")) return yield* deed(mind, mind.contact);
        return yield* deed(mind, yield* lookUpPerson(mind, person.said));
      },
    };
  },
};

export const tellBoth: Kind = {
  phrasings: ["Tell {person} and {other}: {text}.", "Write {text} to {person} and {other}."],
  habits: ["half", ...findPersonHabits],
  draw(scene) {
    const person = drawPerson(scene);
    const other = drawPerson(scene, { unknown: 0, among: notCalled(person.contact && firstName(person.contact)) });
    if (person.meant !== undefined && other.meant !== undefined) return undefined;
    const text = scene.random.pick(greetings);
    return {
      words: { person: person.said, other: other.said, text },
      meant: person.meant ?? other.meant,
      *solve(mind) {
        yield* act(mind, "send_message", { id: yield* findPerson(mind, person.said), text });
        if (mind.slips("half")) return done;
        return yield* act(mind, "send_message", { id: yield* findPerson(mind, other.said), text });
      },
    };
  },
};

export const desk: Kind = {
  phrasings: ["Which desk does {person} have?", "Where does {person} sit?"],
  habits: findPersonHabits,
  question: true,
  leaves: ["person"],
  draw(scene) {
    const person = drawPerson(scene);
    return {
      words: { person: person.said },
      meant: person.meant,
      topic: { person: person.said },
      *solve(mind) {
        const id = yield* findPerson(mind, person.said);
        const { desk = 1 } = yield* read(mind, "get_contact", { id });
        return `Desk ${desk}.`;
      },
    };
  },
};

export const noteDesk: Kind = {
  phrasings: ["Write the desk of {person} into a note {title}.", "Make a note {title} with the desk of {person}."],
  habits: findPersonHabits,
  leaves: ["person"],
  draw(scene) {
    const { world, random } = scene;
    const person = drawPerson(scene);
    const title = drawMissing(
      random,
      noteTitles,
      world.notes.map((note) => note.title),
    );
    return {
      words: { person: person.said, title },
      meant: person.meant,
      topic: { person: person.said },
      *solve(mind) {
        const id = yield* findPerson(mind, person.said);
        const { desk = 1 } = yield* read(mind, "get_contact", { id });
        return yield* act(mind, "write_note", { title, text: String(desk) });
      },
    };
  },
};

export const addContact: Kind = {
  phrasings: [
    "Add {name} to my contacts if missing, and tell them: {text}.",
    "If {name} is not in my contacts, add them. Then write them {text}.",
  ],
  habits: ["check", "half", "busy"],
  leaves: ["person", "deed"],
  draw({ world, random }) {
    const isThere = random.chance(0.6);
    const name = isThere
      ? random.pick(world.contacts).name
      : `${drawMissing(random, firstNames, world.contacts.map(firstName))} ${random.pick(surnames)}`;
    const text = random.pick(greetings);
    const deed = sending(text);
    return {
      words: { name, text },
      topic: { person: name, deed },
      *solve(mind) {
        const [found] = mind.slips("check") ? [] : yield* list(mind, "find_contact", { name });
        mind.contact = found?.id ?? (yield* make(mind, "add_contact", { name }));
        return mind.slips("half") ? done : yield* deed(mind, mind.contact);
      },
    };
  },
};

export const reply: Kind = {
  phrasings: ["Answer the message from {person} with {text}.", "Reply {text} to the message from {person}."],
  habits: findPersonHabits,
  leaves: ["person"],
  draw(scene) {
    const { world, random } = scene;
    const senders = world.inbox.map(({ from }) => from);
    const person = drawPerson(scene, random.chance(0.7) ? { among: ({ id }) => senders.includes(id) } : {});
    const text = random.pick(greetings);
    return {
      words: { person: person.said, text },
      meant: person.meant,
      topic: { person: person.said },
      *solve(mind) {
        if (mind.slips("guess")) return yield* act(mind, "reply", { id: "m01", text });
        const sender = yield* lookUpPerson(mind, person.said);
        const received = (yield* list(mind, "list_messages", {})).find(({ from }) => from === sender);
        if (received === undefined) close(`Sorry, there is no message from ${person.said}.`);
        return yield* act(mind, "reply", { id: received.id, text });
      },
    };
  },
};
