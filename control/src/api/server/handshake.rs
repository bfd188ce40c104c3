//! Connecting and disconnecting: what happens to the connection itself.

use super::super::clients::Clients;
use super::super::field::Reader;
use super::super::memclnt::{
    MessageTableEntry, SockclntCreate, SockclntCreateReply, SockclntDelete, SockclntDeleteReply,
};
use super::super::message::{Call, Message};
use super::super::outgoing::{HeadValues, Outgoing};
use super::super::registry::Api;

/// What the connection's own messages lead to.
pub(super) struct Answer {
    pub out: Outgoing,
    pub disconnects: bool,
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
        return Some(Answer { out: send::<C, SockclntCreate>(api, &reply, 0), disconnects: false });
    }
    if info.name == SockclntDelete::INFO.name {
        let (head, fields) = rest.split_first_chunk::<8>()?;
        let [_, _, _, _, context @ ..] = *head;
        let request: SockclntDelete = Message::decode(&mut Reader::new(fields)).ok()?;
        let is_own = request.index == index;
        let reply = SockclntDeleteReply { response: if is_own { 1 } else { -1 } };
        let out = send::<C, SockclntDelete>(api, &reply, u32::from_be_bytes(context));
        return Some(Answer { out, disconnects: is_own });
    }
    None
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

fn send<C: 'static, M: Call>(api: &Api<C>, reply: &M::Reply, context: u32) -> Outgoing
where
    M::Reply: Message,
{
    let mut out = Outgoing::default();
    let head = HeadValues { context, ..HeadValues::default() };
    let id = api.id(M::REPLY.name).unwrap_or_default();
    out.message(id, M::REPLY, head, |bytes| Message::encode(reply, bytes));
    out
}
