//! Connecting and disconnecting: what happens to the connection itself.

use super::super::clients::Clients;
use super::super::field::Reader;
use super::super::lane::{FerroviaLaneCreate, FerroviaLaneCreateReply};
use super::super::memclnt::{
    MessageTableEntry, SockclntCreate, SockclntCreateReply, SockclntDelete, SockclntDeleteReply,
};
use super::super::message::{Call, Message};
use super::super::outgoing::{HeadValues, Outgoing};
use super::super::registry::Api;
use super::super::retval::Retval;

/// Outcome of one of the connection's own messages.
pub(super) enum Answer {
    /// An answer, and perhaps the end.
    Reply { out: Outgoing, disconnects: bool },
    /// The client wants to go on in shared memory.
    Lane { context: u32, size: u32 },
}

/// Answers `message` of client number `index` if it is about the connection.
pub(super) fn answer<C: 'static>(
    api: &Api<C>,
    clients: &Clients,
    index: u32,
    message: &[u8],
) -> Option<Answer> {
    let (id, rest) = message.split_first_chunk()?;
    let info = api.info(u16::from_be_bytes(*id))?;
    if info.name == SockclntCreate::INFO.name {
        let SockclntCreate { context, name } = Message::decode(&mut Reader::new(rest)).ok()?;
        clients.set_name(index, name.to_string());
        let reply = created(clients, index, context);
        let head = HeadValues::default();
        let out = send::<C, SockclntCreate>(api, Some(&reply), head);
        return Some(Answer::Reply { out, disconnects: false });
    }
    if info.name == SockclntDelete::INFO.name {
        let (context, request): (_, SockclntDelete) = request(rest)?;
        let is_own = request.index == index;
        let reply = SockclntDeleteReply { response: if is_own { 1 } else { -1 } };
        let head = HeadValues { context, ..HeadValues::default() };
        let out = send::<C, SockclntDelete>(api, Some(&reply), head);
        return Some(Answer::Reply { out, disconnects: is_own });
    }
    if info.name == FerroviaLaneCreate::INFO.name {
        let (context, FerroviaLaneCreate { size }) = request(rest)?;
        return Some(Answer::Lane { context, size });
    }
    None
}

/// The number of a request and its fields.
fn request<M: Message>(rest: &[u8]) -> Option<(u32, M)> {
    let (head, fields) = rest.split_first_chunk::<8>()?;
    let [_, _, _, _, context @ ..] = *head;
    let message = Message::decode(&mut Reader::new(fields)).ok()?;
    Some((u32::from_be_bytes(context), message))
}

/// Reply to a request for shared memory: its size, or the error.
pub(super) fn lane<C: 'static>(
    api: &Api<C>,
    context: u32,
    capacity: Result<usize, Retval>,
) -> Outgoing {
    let retval = capacity.err().unwrap_or(Retval::OK).0;
    let reply = capacity.map(|bytes| FerroviaLaneCreateReply { size: bytes as u32 });
    let head = HeadValues { context, retval, ..HeadValues::default() };
    send::<C, FerroviaLaneCreate>(api, reply.ok().as_ref(), head)
}

fn created(clients: &Clients, index: u32, context: u32) -> SockclntCreateReply {
    let entry = |(id, name): (u16, String)| MessageTableEntry { index: id, name: name.into() };
    SockclntCreateReply {
        client_index: 0,
        context,
        response: 0,
        index,
        message_table: clients.directory().table().into_iter().map(entry).collect(),
    }
}

/// The bytes of a reply, or of one that has nothing but its head.
fn send<C: 'static, M: Call>(api: &Api<C>, reply: Option<&M::Reply>, head: HeadValues) -> Outgoing
where
    M::Reply: Message,
{
    let mut out = Outgoing::default();
    let id = api.id(M::REPLY.name).unwrap_or_default();
    match reply {
        Some(reply) => out.message(id, M::REPLY, head, |bytes| Message::encode(reply, bytes)),
        None => out.failed(id, M::REPLY, head),
    }
    out
}
