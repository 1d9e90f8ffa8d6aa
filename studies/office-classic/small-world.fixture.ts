import type { World } from "./world.ts";

/** A small world that tests can be read against. */
export function smallWorld(changed: Partial<World> = {}): World {
  return {
    contacts: [
      { id: "c11", name: "Ana Silva", desk: 21 },
      { id: "c12", name: "Ana Kim", desk: 22 },
      { id: "c13", name: "Bob Fox", desk: 23 },
    ],
    events: [
      { id: "e11", title: "Review", day: "Monday", time: "14:30", guests: [] },
      { id: "e12", title: "Lunch", day: "Monday", time: "12:00", guests: ["c13"] },
    ],
    notes: [{ id: "n11", title: "Rent", text: "40" }],
    inbox: [{ id: "m11", from: "c13", text: "Hello", answers: [] }],
    files: [
      { id: "f11", name: "Report", folder: "Drafts", locked: true, sharedWith: [] },
      { id: "f12", name: "Budget", folder: "Team", locked: false, sharedWith: [] },
    ],
    sent: [],
    payments: [],
    withdrawals: [],
    balance: 50,
    savings: 500,
    ids: ["c11", "c12", "c13", "e11", "e12", "n11", "m11", "f11", "f12"],
    idSeed: 0,
    ...changed,
  };
}
