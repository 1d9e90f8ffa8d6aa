import { close, type Plan } from "../../../src/environments/plan.ts";
import {
  act,
  done,
  type FoundEvent,
  findEvent,
  findEventHabits,
  findPerson,
  findPersonHabits,
  list,
  type Mind,
  make,
} from "../expert.ts";
import { drawMissing, drawPerson, drawTitle, type Kind, type Scene } from "../kind.ts";
import { days, eventTitles, greetings, times } from "../vocabulary.ts";
import type { CalendarEvent } from "../world.ts";
import { type Deed, deedFor } from "./deeds.ts";

const drawEvent = ({ world, random }: Scene) => drawTitle(random, world.events, (event) => event.title, eventTitles);

const drawOtherTime = ({ random }: Scene, event?: CalendarEvent) => random.pick(times.filter((time) => time !== event?.time));

/** The event that somebody names who did not look. */
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
  habits: ["check", "guess", "first", "busy"],
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

export const cancelEvent: Kind = {
  phrasings: ["Cancel {title}.", "{title} is off, cancel it.", "Remove {title} from my calendar."],
  habits: findEventHabits,
  draw(scene) {
    const { title } = drawEvent(scene);
    return {
      words: { title },
      *solve(mind) {
        const { id } = (yield* findEvent(mind, title)) ?? unseen;
        return yield* act(mind, "cancel_event", { id });
      },
    };
  },
};

export const cancelIt: Kind = {
  phrasings: ["No, cancel it.", "Cancel it after all.", "Then cancel it."],
  habits: ["ask", "busy"],
  needs: "event",
  draw({ topic: { event: title } }) {
    if (title === undefined) return undefined;
    return {
      words: {},
      *solve(mind) {
        if (mind.slips("ask")) {
          yield "Cancel what?";
          close("Sorry, I cannot.");
        }
        const { id } = mind.event ?? (yield* findEvent(mind, title)) ?? unseen;
        return yield* act(mind, "cancel_event", { id });
      },
    };
  },
};

export const cancelDay: Kind = {
  phrasings: ["Cancel everything on {day}.", "Clear my {day}.", "I am away on {day}, cancel all events."],
  habits: ["half", "busy"],
  draw({ world, random }) {
    const full = days.filter((day) => world.events.filter((event) => event.day === day).length > 1);
    const day = random.pick(full.length > 0 ? full : days);
    return {
      words: { day },
      *solve(mind) {
        const events = yield* list(mind, "list_events", { day });
        for (const [i, { id }] of events.entries()) {
          if (i === 1 && mind.slips("half")) break;
          yield* act(mind, "cancel_event", { id });
        }
        return done;
      },
    };
  },
};

export const invite: Kind = {
  phrasings: ["Invite {person} to {title}.", "Ask {person} to come to {title}.", "{person} should come to {title}."],
  habits: [...new Set([...findEventHabits, ...findPersonHabits])],
  leaves: ["person", "deed", "event"],
  draw(scene) {
    const { title } = drawEvent(scene);
    const person = drawPerson(scene);
    const deed = inviting(title);
    return {
      words: { title, person: person.said },
      meant: person.meant,
      topic: { person: person.said, deed, event: title },
      *solve(mind) {
        const { id } = (yield* findEvent(mind, title)) ?? unseen;
        return yield* act(mind, "invite", { id, contact: yield* findPerson(mind, person.said) });
      },
    };
  },
};

export const alsoInvite: Kind = {
  phrasings: ["Also invite {person}.", "Invite {person} to it.", "And invite {person}."],
  habits: findPersonHabits,
  needs: "event",
  leaves: ["person", "deed", "event"],
  draw(scene) {
    const { event: title } = scene.topic;
    if (title === undefined) return undefined;
    const draft = deedFor(drawPerson(scene), {}, inviting(title));
    return { ...draft, topic: { ...draft.topic, event: title } };
  },
};

/** To the event that was talked about last. */
function inviting(title: string): Deed {
  return function* (mind, contact) {
    const { id } = mind.event ?? (yield* findEvent(mind, title)) ?? unseen;
    return yield* act(mind, "invite", { id, contact });
  };
}

function drawFreeSlot({ world, random }: Scene): Pick<CalendarEvent, "day" | "time"> {
  const day = random.pick(days);
  const taken = world.events.filter((event) => event.day === day).map((event) => event.time);
  return { day, time: drawMissing(random, times, taken) };
}

function* book(mind: Mind, { title, day, time }: Omit<FoundEvent, "id">): Plan {
  mind.event = undefined;
  mind.event = { id: yield* make(mind, "add_event", { title, day, time }), title, day, time };
  return done;
}
