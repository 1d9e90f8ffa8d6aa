import type { Random } from "../../src/core/random.ts";
import { careless, drawEvent, isAt } from "./draw.ts";
import { act, findEvent } from "./expert.ts";
import { phrased } from "./grammar.ts";
import type { Kind } from "./kind.ts";
import { times } from "./vocabulary.ts";
import type { World } from "./world.ts";

export const book: Kind = {
  phrasings: phrased({
    train: [
      "book a room for {title}",
      "{title} needs a room",
      "a room for {title}",
      "(|please )book {title} a room",
      "{title} gets a room",
      "find a room for {title}",
      "{title}: a room",
    ],
    validation: ["{title} should have a room", "give {title} a room"],
    challenge: ["{title}: book a room", "for {title} a room", "book for {title} a room"],
  }),
  weight: 2.2,
  tool: "book_room",
  leaves: "event",
  draw(scene) {
    const title = drawEvent(scene, ({ room }) => room === undefined);
    const event = scene.world.events.find((event) => event.title === title);
    return {
      words: { title },
      topic: event === undefined ? {} : { event: title },
      *solve(state) {
        const claim = (rate: string) => `${title} has a ${rate} room.`;
        const { id, status } = yield* findEvent(state, title, claim(careless.rate));
        const rate = state.chooses("room", status === "settled" ? "fixed" : "flex", careless.rate, ["flex", "fixed"]);
        return yield* act(state, "book_room", { id, rate }, claim(rate));
      },
    };
  },
};

const drawOtherTime = (random: Random, { events }: World, title: string) =>
  random.pick(times.filter((time) => time !== events.find((event) => event.title === title)?.time));

/** Only of events that may still move. */
export const move: Kind = {
  phrasings: phrased({
    train: [
      "move {title} to {time}",
      "{title} should be at {time}",
      "change {title} to {time}",
      "put {title} at {time}",
      "make {title} at {time}",
      "{title} is better at {time}",
      "{title}: at {time}",
    ],
    validation: ["{title} at {time}", "have {title} at {time}"],
    challenge: ["{title} to {time}", "change the time of {title} to {time}", "{title}: move to {time}"],
  }),
  weight: 0.3,
  tool: "move_event",
  leaves: "event",
  draw(scene) {
    const title = drawEvent(scene, ({ status }) => status === "open");
    const event = scene.world.events.find((event) => event.title === title);
    if (event?.status === "settled") return undefined;
    const time = drawOtherTime(scene.random, scene.world, title);
    return {
      words: { title, time },
      topic: event === undefined ? {} : { event: title },
      *solve(state) {
        const { id, day } = yield* findEvent(state, title, isAt(title, careless.day, time));
        return yield* act(state, "move_event", { id, time }, isAt(title, day, time));
      },
    };
  },
};

export const makeIt: Kind = {
  phrasings: phrased({
    train: [
      "make it {time}",
      "move it to {time}",
      "better at {time}",
      "change it to {time}",
      "it should be at {time}",
      "put it at {time}",
      "at {time}",
    ],
    validation: ["it is better at {time}", "change to {time}"],
    challenge: ["better make it {time}", "have it at {time}", "to {time}"],
  }),
  weight: 0.7,
  tool: "move_event",
  needs: "event",
  leaves: "event",
  draw({ random, world, topic: { event: title } }) {
    if (title === undefined) return undefined;
    const time = drawOtherTime(random, world, title);
    return {
      words: { time },
      topic: { event: title },
      *solve(state) {
        const claim = isAt(title, careless.day, time);
        const { id, day } = state.event?.title === title ? state.event : yield* findEvent(state, title, claim);
        return yield* act(state, "move_event", { id, time }, isAt(title, day, time));
      },
    };
  },
};

export const when: Kind = {
  phrasings: phrased({
    train: [
      "when is {title}?",
      "day and time of {title}?",
      "when do I have {title}?",
      "at which time is {title}?",
      "the time of {title}?",
    ],
    validation: ["which day and time has {title}?"],
    challenge: ["{title} is when?", "day and time for {title}?", "the day and the time of {title}?"],
  }),
  weight: 0.2,
  draw(scene) {
    const title = drawEvent(scene);
    return {
      words: { title },
      *solve(state) {
        const { day, time } = yield* findEvent(state, title, isAt(title, careless.day, careless.time));
        return isAt(title, day, time);
      },
    };
  },
};

export const cancel: Kind = {
  phrasings: phrased({
    train: [
      "(|please )cancel {title}",
      "{title} is off, cancel it",
      "remove the event {title}",
      "cancel the event {title}",
      "{title} is off",
      "{title} is cancelled",
    ],
    validation: ["{title} should be off"],
    challenge: ["{title}: cancel it", "the event {title} is off", "cancel {title}, it is off"],
  }),
  weight: 0.2,
  tool: "cancel_event",
  draw(scene) {
    const title = drawEvent(scene);
    return {
      words: { title },
      *solve(state) {
        const claim = (day: string) => `${title} on ${day} is off.`;
        const { id, day } = yield* findEvent(state, title, claim(careless.day));
        return yield* act(state, "cancel_event", { id }, claim(day));
      },
    };
  },
};
