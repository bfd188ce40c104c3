//! The messages that connections are made of, with fixed numbers 1 to 28 in this order.
//!
//! What only makes sense with the original's shared memory is refused; nobody who talks through a
//! socket asks for it.

use super::describe;
use super::field::{Reader, Short, Text};
use super::message::Call;
use super::outgoing::{HeadValues, Outgoing};
use super::registry::{Api, one_reply};
use super::retval::Retval;
use super::work::{Caller, Registries};
use crate::api::{Message, Record};

/// Name of the module. It has no range of its own.
pub(super) const NAME: &str = "memclnt";

/// Connect through shared memory.
#[derive(Message)]
#[head(bare)]
#[reply(MemclntCreateReply)]
#[option("deprecated")]
struct MemclntCreate {
    context: u32,
    ctx_quota: i32,
    input_queue: u64,
    name: Text<64>,
    api_versions: [u32; 8],
}

/// Refused: there is no shared memory.
#[derive(Message)]
#[head(bare)]
#[option("deprecated")]
struct MemclntCreateReply {
    context: u32,
    /// the error number
    response: i32,
    handle: u64,
    index: u32,
    message_table: u64,
}

/// Leave shared memory.
#[derive(Message)]
#[head(bare)]
#[reply(MemclntDeleteReply)]
struct MemclntDelete {
    index: u32,
    handle: u64,
    do_cleanup: bool,
}

/// Refused: there is no shared memory.
#[derive(Message)]
#[head(bare)]
struct MemclntDeleteReply {
    /// the error number
    response: i32,
    handle: u64,
}

/// A message between threads of a client.
#[derive(Message)]
#[head(bare)]
#[silent]
struct RxThreadExit {
    dummy: u8,
}

/// A message between threads of a client.
#[derive(Message)]
#[head(bare)]
#[silent]
struct MemclntRxThreadSuspend {
    dummy: u8,
}

/// A message between threads of a client.
#[derive(Message)]
#[head(bare)]
#[silent]
struct MemclntReadTimeout {
    dummy: u8,
}

/// Call a function by its address: refused.
#[derive(Message)]
struct RpcCall {
    function: u64,
    multicast: u8,
    need_barrier_sync: u8,
    send_reply: u8,
    #[counted(data_len: u32)]
    data: Vec<u8>,
}

/// Ask for the number of a module's first message.
#[derive(Message)]
#[reply(GetFirstMsgIdReply)]
struct GetFirstMsgId {
    /// the module's name, `_` and the CRC of its file
    name: Text<64>,
}

/// The number of a module's first message.
#[derive(Message)]
struct GetFirstMsgIdReply {
    /// 65535 when there is no such module
    first_msg_id: u16,
}

/// Ask for the versions of modules.
#[derive(Message)]
#[reply(ApiVersionsReply)]
struct ApiVersions {}

/// The version of a module.
#[derive(Record)]
struct ModuleVersion {
    major: u32,
    minor: u32,
    patch: u32,
    name: Text<64>,
}

/// The versions of modules; clients go by CRCs and expect none.
#[derive(Message)]
struct ApiVersionsReply {
    #[counted(count: u32)]
    api_versions: Vec<ModuleVersion>,
}

/// Range of the numbers of a plugin's messages; for the trace of the original's tools.
#[derive(Message)]
#[silent]
struct TracePluginMsgIds {
    plugin_name: Text<128>,
    first_msg_id: u16,
    last_msg_id: u16,
}

/// Connect.
#[derive(Message)]
#[head(bare)]
#[reply(SockclntCreateReply)]
pub(super) struct SockclntCreate {
    pub context: u32,
    /// name of the client
    pub name: Text<64>,
}

/// Number and name of a message.
#[derive(Record)]
pub(super) struct MessageTableEntry {
    /// the number
    pub index: u16,
    /// name, `_` and CRC
    pub name: Text<64>,
}

/// The client is connected.
#[derive(Message)]
#[head(bare)]
pub(super) struct SockclntCreateReply {
    pub client_index: u32,
    pub context: u32,
    /// 0
    pub response: i32,
    /// number of the client, for its requests
    pub index: u32,
    /// all messages there are
    #[counted(count: u16)]
    pub message_table: Vec<MessageTableEntry>,
}

/// Disconnect.
#[derive(Message)]
#[reply(SockclntDeleteReply)]
pub(super) struct SockclntDelete {
    /// the client's number
    pub index: u32,
}

/// The client is no longer known.
#[derive(Message)]
#[head(details)]
pub(super) struct SockclntDeleteReply {
    /// 1, or -1 when no client has the number
    pub response: i32,
}

/// Ask for shared memory: refused.
#[derive(Message)]
struct SockInitShm {
    requested_size: u32,
    #[counted(nitems: u8)]
    configs: Vec<u64>,
}

/// Ask whether the other side is alive.
#[derive(Message)]
struct MemclntKeepalive {}

/// Ask for an answer behind all answers to what was asked before.
#[derive(Message)]
#[reply(ControlPingReply)]
struct ControlPing {}

/// All that was asked before is answered.
#[derive(Message)]
struct ControlPingReply {
    client_index: u32,
    /// the router's process
    vpe_pid: u32,
}

/// Connect through shared memory.
#[derive(Message)]
#[head(bare)]
#[name("memclnt_create_v2")]
#[reply(MemclntCreateV2Reply)]
struct MemclntCreateV2 {
    context: u32,
    ctx_quota: i32,
    input_queue: u64,
    name: Text<64>,
    api_versions: [u32; 8],
    #[preset("true")]
    keepalive: bool,
}

/// Refused: there is no shared memory.
#[derive(Message)]
#[head(bare)]
struct MemclntCreateV2Reply {
    context: u32,
    /// the error number
    response: i32,
    handle: u64,
    index: u32,
    message_table: u64,
}

/// Ask for the declarations of all messages.
#[derive(Message)]
#[reply(GetApiJsonReply)]
struct GetApiJson {}

/// The declarations of all messages, as an array of what is in the files of modules.
#[derive(Message)]
struct GetApiJsonReply {
    json: String,
}

/// The answer to `get_first_msg_id`: also when there is no such module the reply has a number.
fn first_id<C: 'static>(
    around: Registries<'_, C>,
    caller: Caller,
    from: &mut Reader<'_>,
    out: &mut Outgoing,
) -> Result<(), Short> {
    let request: GetFirstMsgId = Message::decode(from)?;
    let name = request.name.as_str();
    let found = around.clients.directory().ranges.iter().find(|r| r.0 == name).map(|r| r.1);
    let retval = found.map_or(Retval::INVALID_VALUE, |_| Retval::OK).0;
    let reply = GetFirstMsgIdReply { first_msg_id: found.unwrap_or(u16::MAX) };
    let head = HeadValues { context: caller.context, retval, ..HeadValues::default() };
    let id = around.api.id(GetFirstMsgId::REPLY.name).unwrap_or_default();
    out.message(id, GetFirstMsgId::REPLY, head, |bytes| Message::encode(&reply, bytes));
    Ok(())
}

pub(super) fn register<C: 'static>(api: &mut Api<C>) {
    const REFUSED: i32 = Retval::UNIMPLEMENTED.0;
    let mut module = api.core(NAME, "2.1.0");
    module
        .call(|_, m: MemclntCreate| {
            let (context, response) = (m.context, REFUSED);
            Ok(MemclntCreateReply { context, response, handle: 0, index: 0, message_table: 0 })
        })
        .call(|_, m: MemclntDelete| Ok(MemclntDeleteReply { response: REFUSED, handle: m.handle }))
        .silent(|_, _, _: RxThreadExit| ())
        .silent(|_, _, _: MemclntRxThreadSuspend| ())
        .silent(|_, _, _: MemclntReadTimeout| ())
        .call(|_, _: RpcCall| Err(Retval::UNIMPLEMENTED))
        .request::<GetFirstMsgId, _>(
            GetFirstMsgIdReply::INFO,
            one_reply(GetFirstMsgIdReply::INFO),
            |_, around, caller, from, out| first_id(around, caller, from, out).map(|()| None),
        )
        .call(|_, _: ApiVersions| Ok(ApiVersionsReply { api_versions: Vec::new() }))
        .silent(|_, _, _: TracePluginMsgIds| ())
        .by_transport::<SockclntCreate>()
        .by_transport::<SockclntDelete>()
        .call(|_, _: SockInitShm| Err(Retval::UNIMPLEMENTED))
        .call(|_, _: MemclntKeepalive| Ok(()))
        .call_by(|_, caller, _: ControlPing| {
            Ok(ControlPingReply { client_index: caller.client, vpe_pid: std::process::id() })
        })
        .call(|_, m: MemclntCreateV2| {
            let (context, response) = (m.context, REFUSED);
            Ok(MemclntCreateV2Reply { context, response, handle: 0, index: 0, message_table: 0 })
        });
    module.request::<GetApiJson, _>(
        GetApiJsonReply::INFO,
        one_reply(GetApiJsonReply::INFO),
        |_, around, caller, _, out| {
            let reply = GetApiJsonReply { json: describe::all(around.api) };
            let head = HeadValues { context: caller.context, ..HeadValues::default() };
            let id = around.api.id(GetApiJson::REPLY.name).unwrap_or_default();
            out.message(id, GetApiJson::REPLY, head, |bytes| {
                reply.encode(bytes);
                // Clients expect a NUL that the string's length does not count.
                bytes.push(0);
            });
            Ok(None)
        },
    );
}
