import { z } from "zod";
import {
  act,
  call,
  done,
  type FoundEvent,
  findEvent,
  findEventHabits,
  findPerson,
  findPersonHabits,
  list,
  type Mind,
  type Plan,
} from "../expert.ts";
import { drawMissing, drawPerson, drawTitle, type Kind, type Scene } from "../kind.ts";
import { days, eventTitles, greetings, times } from "../vocabulary.ts";
import type { CalendarEvent } from "../world.ts";

const drawEvent = ({ world, random }: Scene) => drawTitle(random, world.events, (event) => event.title, eventTitles);

const drawOtherTime = ({ random }: Scene, event?: CalendarEvent) => random.pick(times.filter((time) => time !== event?.time));

/** What somebody says who did not look. */
const unseen = { id: "e01", day: "Monday", time: "09:00" };

export const moveEvent: Kind = {
  phrasings: ["Move {title} to {time}.", "Change the time of {title} to {time}.", "{title} should be at {time}."],
  habits: findEventHabits,
  leaves: ["event"],
  draw(scene) {
    const { title, item } = drawEvent(scene);
    const time = drawOtherTime(scene, item);
    return {
      words: { title, time },
      topic: { event: title },
      *solve(mind) {
        const { id } = (yield* findEvent(mind, title)) ?? unseen;
        return yield* act(mind, "move_event", { id, time });
      },
    };
  },
};

export const makeIt: Kind = {
  phrasings: ["Make it {time}.", "Move it to {time}.", "Better at {time}."],
  habits: ["duplicate", "busy"],
  needs: "event",
  leaves: ["event"],
  draw(scene) {
    const { event: title } = scene.topic;
    if (title === undefined) return undefined;
    const time = drawOtherTime(
      scene,
      scene.world.events.find((event) => event.title === title),
    );
    return {
      words: { time },
      topic: { event: title },
      *solve(mind) {
        const event = mind.event ?? (yield* findEvent(mind, title));
        if (event !== undefined && mind.slips("duplicate")) return yield* act(mind, "add_event", { title, day: event.day, time });
        return yield* act(mind, "move_event", { id: event?.id ?? unseen.id, time });
      },
    };
  },
};

export const when: Kind = {
  phrasings: ["When is {title}?", "Day and time of {title}?", "When do I have {title}?"],
  habits: findEventHabits,
  question: true,
  leaves: ["event"],
  draw(scene) {
    const { title } = drawEvent(scene);
    return {
      words: { title },
      topic: { event: title },
      *solve(mind) {
        const { day, time } = (yield* findEvent(mind, title)) ?? unseen;
        return `It is on ${day} at ${time}.`;
      },
    };
  },
};

export const tellWhen: Kind = {
  phrasings: ["Tell {person} the time of {title}.", "Send {person} the time of {title}.", "{person} needs the time of {title}."],
  habits: [...new Set([...findEventHabits, ...findPersonHabits])],
  leaves: ["person", "event"],
  draw(scene) {
    const { title } = drawEvent(scene);
    const person = drawPerson(scene);
    return {
      words: { title, person: person.said },
      meant: person.meant,
      topic: { person: person.said, event: title },
      *solve(mind) {
        const { time } = (yield* findEvent(mind, title)) ?? unseen;
        return yield* act(mind, "send_message", { id: yield* findPerson(mind, person.said), text: time });
      },
    };
  },
};

export const bookIfFree: Kind = {
  phrasings: [
    "If I am free on {day} at {time}, book {title}, else tell {person}: {text}.",
    "Book {title} on {day} at {time} if I am free. If not, tell {person}: {text}.",
  ],
  habits: ["check", ...findPersonHabits],
  leaves: ["event", "person"],
  draw(scene) {
    const { world, random } = scene;
    const taken = random.chance(0.6) && world.events.length > 0 ? random.pick(world.events) : undefined;
    const { day, time } = taken ?? drawFreeSlot(scene);
    const person = drawPerson(scene, { unknown: 0 });
    const title = drawMissing(
      random,
      eventTitles,
      world.events.map((event) => event.title),
    );
    const text = random.pick(greetings);
    return {
      words: { title, day, time, person: person.said, text },
      meant: person.meant,
      topic: taken === undefined ? { event: title } : { person: person.said },
      *solve(mind) {
        if (mind.slips("check")) return yield* book(mind, { title, day, time });
        const events = yield* list(mind, "list_events", { day });
        if (events.every((event) => event.time !== time)) return yield* book(mind, { title, day, time });
        return yield* act(mind, "send_message", { id: yield* findPerson(mind, person.said), text });
      },
    };
  },
};

function drawFreeSlot({ world, random }: Scene): Pick<CalendarEvent, "day" | "time"> {
  const day = random.pick(days);
  const taken = world.events.filter((event) => event.day === day).map((event) => event.time);
  return { day, time: drawMissing(random, times, taken) };
}

function* book(mind: Mind, { title, day, time }: Omit<FoundEvent, "id">): Plan {
  mind.event = undefined;
  const { id } = madeSchema.parse(JSON.parse(yield* call(mind, "add_event", { title, day, time })));
  mind.event = { id, title, day, time };
  return done;
}

const madeSchema = z.object({ id: z.string() });
