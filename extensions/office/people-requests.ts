import { z } from "zod";
import { careless, drawEvent, drawPerson } from "./draw.ts";
import { act, findEvent, listed, lookUp, type PersonAction, toPerson } from "./expert.ts";
import { phrased } from "./grammar.ts";
import type { Draft, Kind, Scene } from "./kind.ts";
import { close } from "./plan.ts";
import { courierOf, couriers, favourites } from "./rules.ts";
import { type Day, days } from "./vocabulary.ts";

function onePerson(scene: Scene, words: Draft["words"], action: PersonAction): Draft {
  const { said, name, meant } = drawPerson(scene);
  return {
    words: { person: said, ...words },
    meant,
    topic: { action, person: name },
    solve: (state) => toPerson(state, said, action),
  };
}

const paying = (amount: number): PersonAction => ({
  redirects: false,
  claim: (name) => `Paid ${name} ${amount}.`,
  run: (state, id, claim) => act(state, "pay", { id, amount }, claim),
});

const telling = (text: string): PersonAction => ({
  redirects: true,
  claim: (name) => `Told ${name}.`,
  run: (state, id, claim) => act(state, "send_message", { id, text }, claim),
});

/** Asks for the day, and sends with the courier that drives on it. */
const sending: PersonAction = {
  redirects: false,
  claim: (name) => `Sent ${name} a parcel.`,
  *run(state, id, claim) {
    const today = dayOf(yield { name: "today", arguments: {} });
    const courier = state.chooses("courier", courierOf[today], favourites.courier, couriers);
    return yield* act(state, "send_parcel", { id, courier }, claim);
  },
};

function dayOf(answer: string): Day {
  return days.find((day) => day === answer) ?? close("Sorry, I cannot find the day.");
}

export const pay: Kind = {
  phrasings: phrased({
    train: [
      "(|please )pay {person} {amount}",
      "send {amount} to {person}",
      "give {person} {amount}",
      "pay {amount} to {person}",
      "{person} gets {amount}",
      "{amount} for {person}",
      "send {person} {amount}",
    ],
    validation: ["{person} needs {amount}", "{amount} to {person}"],
    challenge: ["give {amount} to {person}", "{person} should have {amount}", "{person}: pay {amount}"],
  }),
  weight: 1.4,
  tool: "pay",
  leaves: "action",
  draw: (scene) => {
    const amount = 11 + scene.random.integer(89);
    return onePerson(scene, { amount }, paying(amount));
  },
};

export const message: Kind = {
  phrasings: phrased({
    train: [
      "tell {person}: {text}",
      "write {person}: {text}",
      "send {person} the message {text}",
      "write to {person}: {text}",
      "the message {text} for {person}",
      "{person} gets the message {text}",
      "send the message {text} to {person}",
    ],
    validation: ["tell {text} to {person}", "{person} needs the message {text}"],
    challenge: ["the message {text} to {person}", "give {person} the message {text}", "write {person} the message {text}"],
  }),
  weight: 5,
  tool: "send_message",
  leaves: "action",
  draw: (scene) => {
    const text = scene.random.pick(scene.words.greetings);
    return onePerson(scene, { text }, telling(text));
  },
};

export const parcel: Kind = {
  phrasings: phrased({
    train: [
      "send {person} a parcel",
      "a parcel for {person}",
      "{person} gets a parcel",
      "(|please )send a parcel to {person}",
      "{person} needs a parcel",
      "{person}: a parcel",
    ],
    validation: ["give {person} a parcel", "{person} should have a parcel"],
    challenge: ["a parcel to {person}", "{person} wants a parcel", "send to {person} a parcel"],
  }),
  weight: 4,
  tool: "send_parcel",
  leaves: "action",
  draw: (scene) => onePerson(scene, {}, sending),
};

export const same: Kind = {
  phrasings: phrased({
    train: [
      "the same for {person}",
      "{person} too",
      "do the same for {person}",
      "{person}, the same",
      "and for {person}",
      "{person} needs the same",
    ],
    validation: ["the same to {person}", "{person} gets the same"],
    challenge: ["and the same for {person}", "do it for {person} too", "and {person}, the same"],
  }),
  weight: 3,
  needs: "action",
  leaves: "action",
  draw(scene) {
    const { action } = scene.topic;
    if (action === undefined) return undefined;
    const draft = onePerson(scene, {}, action);
    if (draft.topic?.person === scene.topic.person) return undefined;
    return {
      ...draft,
      *solve(state) {
        const { contact } = state;
        if (contact === undefined || !state.slips("same")) return yield* draft.solve(state);
        return yield* action.run(state, contact.id, action.claim(contact.name));
      },
    };
  },
};

export const tellWhen: Kind = {
  phrasings: phrased({
    train: [
      "tell {person} the time of {title}",
      "send {person} the time of {title}",
      "{person} needs the time of {title}",
      "write {person} the time of {title}",
      "the time of {title} for {person}",
      "tell {person} when {title} is",
      "give {person} the time of {title}",
    ],
    validation: ["tell the time of {title} to {person}", "{person} gets the time of {title}"],
    challenge: ["the time of {title} to {person}", "send the time of {title} to {person}", "write {person} when {title} is"],
  }),
  weight: 1,
  tool: "send_message",
  draw(scene) {
    const title = drawEvent(scene);
    const { said, meant } = drawPerson(scene);
    return {
      words: { title, person: said },
      meant,
      *solve(state) {
        const { time } = yield* findEvent(state, title, `Told ${said}.`);
        return yield* toPerson(state, said, telling(time));
      },
    };
  },
};

export const desk: Kind = {
  phrasings: phrased({
    train: [
      "where does {person} sit?",
      "which desk has {person}?",
      "the desk of {person}?",
      "where is the desk of {person}?",
      "which desk does {person} have?",
      "the desk for {person}?",
    ],
    validation: ["{person} has which desk?"],
    challenge: ["{person} sits where?", "which is the desk of {person}?", "at which desk does {person} sit?"],
  }),
  weight: 0.2,
  draw(scene) {
    const { said, meant } = drawPerson(scene);
    return {
      words: { person: said },
      meant,
      *solve(state) {
        const person = yield* lookUp(state, said, { redirects: false, claim: (name) => `${name} sits at ${careless.desk}.` });
        const { desk } = deskSchema.parse(listed(yield { name: "get_contact", arguments: { id: person.id } }));
        return `${person.name} sits at ${desk}.`;
      },
    };
  },
};

const deskSchema = z.object({ desk: z.number() });
