//! The messages that connections are made of, with fixed numbers 1 to 28 in this order.
//!
//! Messages that need the original's shared memory are refused; clients of sockets never send them.

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

/// Refused: shared memory is not available.
#[derive(Message)]
#[head(bare)]
#[option("deprecated")]
struct MemclntCreateReply {
    context: u32,
    /// error number
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

/// Refused: shared memory is not available.
#[derive(Message)]
#[head(bare)]
struct MemclntDeleteReply {
    /// error number
    response: i32,
    handle: u64,
}

/// Message between threads of a client.
#[derive(Message)]
#[head(bare)]
#[silent]
struct RxThreadExit {
    dummy: u8,
}

/// Message between threads of a client.
#[derive(Message)]
#[head(bare)]
#[silent]
struct MemclntRxThreadSuspend {
    dummy: u8,
}

/// Message between threads of a client.
#[derive(Message)]
#[head(bare)]
#[silent]
struct MemclntReadTimeout {
    dummy: u8,
}

/// Call a function by address: refused.
#[derive(Message)]
struct RpcCall {
    function: u64,
    multicast: u8,
    need_barrier_sync: u8,
    send_reply: u8,
    #[counted(data_len: u32)]
    data: Vec<u8>,
}

/// Get a module's first message ID.
#[derive(Message)]
#[reply(GetFirstMsgIdReply)]
struct GetFirstMsgId {
    /// module name, `_` and the CRC of its file
    name: Text<64>,
}

/// A module's first message ID.
#[derive(Message)]
struct GetFirstMsgIdReply {
    /// 65535 if there is no such module
    first_msg_id: u16,
}

/// Get the versions of modules.
#[derive(Message)]
#[reply(ApiVersionsReply)]
struct ApiVersions {}

/// Version of a module.
#[derive(Record)]
struct ModuleVersion {
    major: u32,
    minor: u32,
    patch: u32,
    name: Text<64>,
}

/// Versions of modules; clients go by CRCs and expect none.
#[derive(Message)]
struct ApiVersionsReply {
    #[counted(count: u32)]
    api_versions: Vec<ModuleVersion>,
}

/// Message ID range of a plugin, for the original's trace tools.
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
    /// client name
    pub name: Text<64>,
}

/// ID and name of a message.
#[derive(Record)]
pub(super) struct MessageTableEntry {
    /// the number
    pub index: u16,
    /// name, `_` and CRC
    pub name: Text<64>,
}

/// Reply: the client is connected.
#[derive(Message)]
#[head(bare)]
pub(super) struct SockclntCreateReply {
    pub client_index: u32,
    pub context: u32,
    /// 0
    pub response: i32,
    /// client index, for requests
    pub index: u32,
    /// all messages
    #[counted(count: u16)]
    pub message_table: Vec<MessageTableEntry>,
}

/// Disconnect.
#[derive(Message)]
#[reply(SockclntDeleteReply)]
pub(super) struct SockclntDelete {
    /// client index
    pub index: u32,
}

/// Reply: the client is disconnected.
#[derive(Message)]
#[head(details)]
pub(super) struct SockclntDeleteReply {
    /// 1, or -1 if there is no such client
    pub response: i32,
}

/// Request shared memory: refused.
#[derive(Message)]
struct SockInitShm {
    requested_size: u32,
    #[counted(nitems: u8)]
    configs: Vec<u64>,
}

/// Check that the other side is alive.
#[derive(Message)]
struct MemclntKeepalive {}

/// Request a reply after the replies to all earlier requests.
#[derive(Message)]
#[reply(ControlPingReply)]
struct ControlPing {}

/// Reply to a ping: all earlier requests have been answered.
#[derive(Message)]
struct ControlPingReply {
    client_index: u32,
    /// process ID of the router
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

/// Refused: shared memory is not available.
#[derive(Message)]
#[head(bare)]
struct MemclntCreateV2Reply {
    context: u32,
    /// error number
    response: i32,
    handle: u64,
    index: u32,
    message_table: u64,
}

/// Get the definitions of all messages.
#[derive(Message)]
#[reply(GetApiJsonReply)]
struct GetApiJson {}

/// Definitions of all messages, as an array of the contents of the module files.
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
