import { callMethod, joinTexts } from "../../python/methods.ts";
import { add, subtract } from "../../python/numbers.ts";
import { compare, equal, getItem, iterate, setItem, truth } from "../../python/operators.ts";
import { Dict, PySet, type Value } from "../../python/values.ts";
import { configured, defineBackend, error, f, itemsOf } from "./backend.ts";

interface TicketState {
  ticket_queue: Value;
  ticket_counter: Value;
  current_user: Value;
}

const fields = new PySet(["title", "description", "status", "priority"]);

function findTicket({ ticket_queue }: TicketState, id: Value): Value {
  return iterate(ticket_queue).find((ticket) => equal(getItem(ticket, "id"), id)) ?? null;
}

/** Applies a change to a ticket, or says that there is none. */
function withTicket(state: TicketState, id: Value, change: (ticket: Value) => Value): Value {
  const ticket = findTicket(state, id);
  return truth(ticket) ? change(ticket) : error(f`Ticket with ID ${id} not found.`);
}

export const ticketBackend = defineBackend<TicketState>(
  "TicketAPI",
  (config) => ({
    ticket_queue: configured(config, "ticket_queue", []),
    ticket_counter: configured(config, "ticket_counter", 1n),
    current_user: configured(config, "current_user", null),
  }),
  {
    "create_ticket(title, description='', priority=1)": (state, title, description, priority) => {
      if (!truth(state.current_user)) return error("User not authenticated. Please log in to create a ticket.");
      if (compare(priority, "<", 1n) || compare(priority, ">", 5n))
        return error("Invalid priority. Priority must be between 1 and 5.");
      const ticket = Dict.of({
        id: state.ticket_counter,
        title,
        description,
        status: "Open",
        priority,
        created_by: state.current_user,
      });
      callMethod(state.ticket_queue, "append", ticket);
      state.ticket_counter = add(state.ticket_counter, 1n, "+=");
      return ticket;
    },
    "get_ticket(ticket_id)": (state, id) => withTicket(state, id, (ticket) => ticket),
    "close_ticket(ticket_id)": (state, id) =>
      withTicket(state, id, (ticket) => {
        if (equal(getItem(ticket, "status"), "Closed")) return error(f`Ticket with ID ${id} is already closed.`);
        setItem(ticket, "status", "Closed");
        return Dict.of({ status: f`Ticket ${id} has been closed successfully.` });
      }),
    "resolve_ticket(ticket_id, resolution)": (state, id, resolution) =>
      withTicket(state, id, (ticket) => {
        if (equal(getItem(ticket, "status"), "Resolved")) return error(f`Ticket with ID ${id} is already resolved.`);
        setItem(ticket, "status", "Resolved");
        setItem(ticket, "resolution", resolution);
        return Dict.of({ status: f`Ticket ${id} has been resolved successfully.` });
      }),
    "edit_ticket(ticket_id, updates)": (state, id, updates) =>
      withTicket(state, id, (ticket) => {
        const invalid = subtract(new PySet(iterate(callMethod(updates, "keys"))), fields) as PySet;
        if (truth(invalid)) return error(`Invalid fields for update: ${joinTexts(", ", invalid)}`);
        for (const [key, value] of itemsOf(updates)) if (value !== null) setItem(ticket, key, value);
        return Dict.of({ status: f`Ticket ${id} has been updated successfully.` });
      }),
    "ticket_login(username, password)": (state, username, password) => {
      if (!truth(username) || !truth(password)) return Dict.of({ success: false });
      state.current_user = username;
      return Dict.of({ success: true });
    },
    "ticket_get_login_status()": (state) => Dict.of({ login_status: truth(state.current_user) }),
    "logout()": (state) => {
      if (!truth(state.current_user)) return Dict.of({ success: false });
      state.current_user = null;
      return Dict.of({ success: true });
    },
    "get_user_tickets(status=None)": (state, status) => {
      if (!truth(state.current_user)) return [error("User not authenticated. Please log in to view tickets.")];
      const own = iterate(state.ticket_queue).filter((ticket) => equal(getItem(ticket, "created_by"), state.current_user));
      if (!truth(status)) return own;
      return own.filter((ticket) => equal(callMethod(getItem(ticket, "status"), "lower"), callMethod(status, "lower")));
    },
  },
);
