//! From the bytes of a message to its handler.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::outgoing::{HeadValues, Outgoing};
use super::registry::Api;
use super::retval::Retval;
use super::schema::Head;
use super::trace::Direction;
use super::work::{Caller, Progress, Registries, Work};
use crate::feature::Owner;
use crate::origin;

/// Reasons why a message has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// It has no number.
    Empty,
    /// No message has this number.
    Unknown(u16),
    /// Shorter than its declaration.
    Short(&'static str),
    /// Not a request.
    NoRequest(&'static str),
    /// Answering it failed in a way that is our mistake.
    Panic(&'static str),
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a message without an ID"),
            Self::Unknown(id) => write!(f, "no message with ID {id}"),
            Self::Short(name) => write!(f, "{name} is too short"),
            Self::NoRequest(name) => write!(f, "{name} is not a request"),
            Self::Panic(name) => write!(f, "{name}: panicked"),
        }
    }
}

/// Work of a request that is not done yet.
pub struct Job<C> {
    client: u32,
    owner: Owner,
    work: Box<dyn Work<C>>,
}

/// Answers one message that came from client number `own`, or starts to. The answer waits for that
/// client: the number in the message itself is not believed, as any client may write any there.
pub fn dispatch<C: 'static>(
    around: Registries<'_, C>,
    cx: &mut C,
    own: u32,
    message: &[u8],
) -> Result<Option<Job<C>>, Ignored> {
    let clients = around.clients;
    let (id, rest) = message.split_first_chunk().ok_or(Ignored::Empty)?;
    let id = u16::from_be_bytes(*id);
    let entry = around.api.entry(id).ok_or(Ignored::Unknown(id))?;
    let info = entry.info;
    if entry.service.is_none() {
        return Err(Ignored::NoRequest(info.name));
    }
    let (caller, fields) = caller(info.head, own, rest).ok_or(Ignored::Short(info.name))?;
    let client = caller.client;
    clients.with_trace(Direction::Rx, |trace| trace.record(message));
    clients.note_request(client, info.name);
    let origin = clients.origin(client);
    let _entered = origin::enter(&origin);
    // Tables are only read.
    let is_table = entry.service.is_some_and(|service| service.is_stream);
    if !is_table && !only_reads(info.name) {
        origin::note_change();
    }
    let mut out = clients.take(client);
    let before = out.bytes.len();
    let answer = || around.api.answer(cx, around, &entry, caller, fields, &mut out);
    let answered = catch_unwind(AssertUnwindSafe(answer));
    let result = match answered {
        Ok(Ok(work)) => Ok(work.map(|work| Job { client, owner: entry.owner, work })),
        Ok(Err(_)) => Err(Ignored::Short(info.name)),
        Err(_) => {
            out.bytes.truncate(before);
            refuse(around.api, id, caller, &mut out);
            Err(Ignored::Panic(info.name))
        }
    };
    clients.with_trace(Direction::Tx, |trace| trace.record_all(&out.bytes[before..]));
    clients.put_back(client, out, before);
    result
}

/// The caller of a message that came from client number `own`, and the message's fields.
fn caller(head: Head, own: u32, rest: &[u8]) -> Option<(Caller, &[u8])> {
    let Head::Request = head else { return Some((Caller { client: own, context: 0 }, rest)) };
    let (head, fields) = rest.split_first_chunk::<8>()?;
    let [_, _, _, _, context @ ..] = *head;
    Some((Caller { client: own, context: u32::from_be_bytes(context) }, fields))
}

/// Messages that change nothing and whose names do not say so.
const READING: &[&str] = &[
    "api_versions",
    "classify_table_by_interface",
    "classify_table_ids",
    "classify_table_info",
    "cli_inband",
    "map_summary_stats",
    "trace_plugin_msg_ids",
];

/// Whether a message of this name requests information and changes nothing.
fn only_reads(name: &str) -> bool {
    let has = |words: &[&str]| name.split('_').any(|word| words.contains(&word));
    let begins = ["want_", "sockclnt_", "memclnt_"];
    let reads =
        has(&["get", "show", "lookup", "dump", "details"]) || name.ends_with("control_ping");
    let changes = has(&["set", "add", "del", "enable", "disable", "clear"]);
    reads && !changes
        || begins.iter().any(|begin| name.starts_with(begin))
        || READING.contains(&name)
}

/// Answers a request with the number for errors without one.
fn refuse<C: 'static>(api: &Api<C>, id: u16, caller: Caller, out: &mut Outgoing) {
    let service = api.entry(id).and_then(|e| e.service);
    let reply = service.filter(|s| s.rows.is_some() || !s.is_stream).and_then(|s| s.reply);
    let Some(reply) = reply.and_then(|name| api.id(name)) else { return };
    let Some(info) = api.info(reply) else { return };
    let head = HeadValues {
        client_index: caller.client,
        context: caller.context,
        retval: Retval::UNSPECIFIED.0,
        pid: 0,
    };
    out.failed(reply, info, head);
}

impl<C: 'static> Job<C> {
    /// Does a little. A panic ends it, and when its plugin is unloaded it ends as well.
    pub fn step(&mut self, around: Registries<'_, C>, cx: &mut C) -> Progress {
        if !self.owner.is_there() {
            return Progress::Done;
        }
        let clients = around.clients;
        let origin = clients.origin(self.client);
        let _entered = origin::enter(&origin);
        let mut out = clients.take(self.client);
        let before = out.bytes.len();
        let step = || self.work.step(cx, around, &mut out);
        let progress = catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|_| {
            out.bytes.truncate(before);
            Progress::Done
        });
        clients.with_trace(Direction::Tx, |trace| trace.record_all(&out.bytes[before..]));
        clients.put_back(self.client, out, before);
        progress
    }

    /// Ends it because the client is gone.
    pub fn cancel(mut self, cx: &mut C) {
        // A panic in here has nothing more to stop.
        let _ = catch_unwind(AssertUnwindSafe(|| self.work.cancel(cx)));
    }
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    #[test]
    fn names_say_whether_a_message_changes_anything() {
        let reading = [
            "sw_interface_get_table",
            "get_first_msg_id",
            "abf_plugin_get_version",
            "bfd_udp_get_echo_source",
            "ip_route_lookup_v2",
            "nat44_show_running_config",
            "acl_plugin_control_ping",
            "control_ping",
            "want_interface_events",
            "classify_table_ids",
        ];
        assert_eq!(reading.iter().find(|name| !only_reads(name)), None);
        let changing = [
            "acl_plugin_use_hash_lookup_set",
            "l2tpv3_set_lookup_key",
            "sw_interface_set_flags",
            "ip_route_add_del",
            "collect_detailed_interface_stats",
            "create_loopback",
        ];
        assert_eq!(changing.iter().find(|name| only_reads(name)), None);
    }
}
