//! Outgoing messages, each after its header of 16 bytes: eight without meaning, the
//! length (u32, big endian), four without meaning.

use super::message::Message;
use super::schema::{Head, MessageInfo};

/// Bytes of the header.
pub const HEADER: usize = 16;

/// Fields of replies that are [`u32::MAX`] when the request is refused.
const INDICES: [&str; 3] = ["sw_if_index", "stats_index", "vrf_id"];

/// Messages for one client.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// As they go through the socket.
    pub bytes: Vec<u8>,
}

/// Values for the head of a message; those that it has no place for are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadValues {
    /// Client index.
    pub client_index: u32,
    /// The request's.
    pub context: u32,
    /// 0 or an error number.
    pub retval: i32,
    /// Process number that the client registered with.
    pub pid: u32,
}

impl Outgoing {
    /// Adds message number `id`; `fields` appends its own fields.
    pub fn message(
        &mut self,
        id: u16,
        info: &MessageInfo,
        head: HeadValues,
        fields: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.bytes.len();
        self.bytes.resize(start + HEADER, 0);
        write_head(&mut self.bytes, id, info.head, head);
        fields(&mut self.bytes);
        let len = self.bytes.len() - start - HEADER;
        let len = u32::try_from(len).expect("a message is below 4 GB");
        self.bytes[start + 8..start + 12].copy_from_slice(&len.to_be_bytes());
    }

    /// Adds a message as it is, beginning with its number.
    pub fn raw(&mut self, message: &[u8]) {
        let len = u32::try_from(message.len()).expect("a message is below 4 GB");
        self.bytes.extend([0; 8]);
        self.bytes.extend(len.to_be_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend_from_slice(message);
    }

    /// Adds a message with all fields zero but head and `retval`, and those that are the index of
    /// what was to be made: there is none.
    pub fn failed(&mut self, id: u16, info: &MessageInfo, head: HeadValues) {
        let start = self.bytes.len() + HEADER;
        self.message(id, info, head, |out| out.resize(start + info.full_size(), 0));
        if let Some(at) = info.retval_at() {
            self.bytes[start + at..start + at + 4].copy_from_slice(&head.retval.to_be_bytes());
        }
        for at in INDICES.iter().filter_map(|name| info.place_of(name)) {
            self.bytes[start + at..start + at + 4].fill(0xff);
        }
    }
}

fn write_head(out: &mut Vec<u8>, id: u16, kind: Head, head: HeadValues) {
    out.extend(id.to_be_bytes());
    let mut put = |number: u32| out.extend(number.to_be_bytes());
    match kind {
        Head::Request => {
            put(head.client_index);
            put(head.context);
        }
        Head::Reply => {
            put(head.context);
            put(head.retval as u32);
        }
        Head::Details => put(head.context),
        Head::Event => {
            put(head.client_index);
            put(head.pid);
        }
        Head::Index => put(head.client_index),
        Head::Bare => {}
    }
}

/// The whole messages in `bytes`, each beginning with its number. What follows the last whole one
/// is left out.
pub fn split(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some((header, rest)) = bytes.split_at_checked(HEADER) {
        let len = u32::from_be_bytes(header[8..12].try_into().expect("four bytes")) as usize;
        let Some((message, rest)) = rest.split_at_checked(len) else { break };
        messages.push(message);
        bytes = rest;
    }
    messages
}

/// `message` as it is sent over the socket.
pub fn request<M: Message>(id: u16, message: &M, head: HeadValues) -> Vec<u8> {
    let mut out = Outgoing::default();
    out.message(id, M::INFO, head, |bytes| message.encode(bytes));
    out.bytes
}
