//! Declarations, CRCs, bytes and answers, on a context of this test's own.

use std::net::Ipv4Addr;

use wire::MacAddr;

use super::json::Secrets::Kept;
use super::types::{Address, AddressWithPrefix, Prefix};
use super::*;
use crate::cli::Cli;
use crate::feature::Owner;
use crate::numbers;

numbers! {
    /// State.
    enum IfStatusFlags: u32 = "if_status_flags" in "vnet/interface_types.api" {
        ADMIN_UP = 1 => "IF_STATUS_API_FLAG_ADMIN_UP",
        LINK_UP = 2 => "IF_STATUS_API_FLAG_LINK_UP",
    }
}

/// A stand-in for the router's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Index(u32);

impl Alias for Index {
    type Wire = u32;
    const NAME: &'static str = "interface_index";
    const FILE: &'static str = "vnet/interface_types.api";

    fn to_wire(&self) -> u32 {
        self.0
    }

    fn of_wire(index: u32) -> Self {
        Self(index)
    }
}

/// Create.
#[derive(Message)]
#[reply(CreateLoopbackReply)]
struct CreateLoopback {
    mac_address: MacAddr,
}

/// Created.
#[derive(Message, Debug, PartialEq)]
struct CreateLoopbackReply {
    sw_if_index: Index,
}

/// Set.
#[derive(Message)]
#[events(SwInterfaceEvent)]
struct SwInterfaceSetFlags {
    sw_if_index: Index,
    flags: IfStatusFlags,
}

/// Changed.
#[derive(Message, Debug, PartialEq)]
struct SwInterfaceEvent {
    sw_if_index: Index,
    flags: IfStatusFlags,
    deleted: bool,
}

/// Add.
#[derive(Message)]
struct SwInterfaceAddDelAddress {
    sw_if_index: Index,
    is_add: bool,
    del_all: bool,
    prefix: AddressWithPrefix,
}

/// Register.
#[derive(Message)]
struct WantPingFinishedEvents {
    address: Address,
    #[preset(1)]
    repeat: u32,
    #[preset(1.0)]
    interval: f64,
}

/// Counts that do not stand right before what they count.
#[derive(Message, Debug, PartialEq, Clone)]
#[stream(RowDetails, TableReply)]
struct Table {
    #[name("type")]
    kind: u16,
    n_input: u8,
    numbers: [u16; 2],
    #[counted(count: u8, before = n_input)]
    acls: Vec<u32>,
    rest: String,
}

/// Row.
#[derive(Message, Debug, PartialEq)]
struct RowDetails {
    name: Text<8>,
}

/// End.
#[derive(Message, Debug, PartialEq)]
struct TableReply {
    cursor: u32,
}

/// Rows.
#[derive(Message)]
#[details(RowDetails)]
struct RowDump {}

/// Arms.
#[derive(Union, Debug, Clone, PartialEq)]
enum Arms {
    #[case("SMALL")]
    Small(u16),
    #[case("LARGE")]
    Large([u8; 6]),
}

/// A message with a union.
#[derive(Message)]
struct UnionSet {
    #[discriminator("kind")]
    un: Overlay<Arms>,
}

#[derive(Default)]
struct Router {
    clients: Clients,
    flags: u32,
}

fn api() -> (Api<Router>, Cli<Router>, Router) {
    let mut api = Api::new();
    api.core("interface", "3.2.3")
        .call(|_, m: CreateLoopback| match m.mac_address.is_multicast() {
            true => Err(Retval::INVALID_VALUE),
            false => Ok(CreateLoopbackReply { sw_if_index: Index(7) }),
        })
        .call_by(|router: &mut Router, caller, m: SwInterfaceSetFlags| {
            if m.sw_if_index != Index(7) {
                return Err(Retval::INVALID_SW_IF_INDEX);
            }
            // The second request finds it registered.
            let _ = router.clients.want::<SwInterfaceEvent>(caller.client, 99, true);
            router.flags = m.flags.0;
            let SwInterfaceSetFlags { sw_if_index, flags } = m;
            router.clients.send(&SwInterfaceEvent { sw_if_index, flags, deleted: false });
            Ok(())
        })
        .call(|_, m: SwInterfaceAddDelAddress| {
            m.prefix.0.native()?;
            Ok(())
        });
    api.core("interface", "3.2.3").stream(|_, m: Table| {
        let names = m.acls.iter().map(|n| RowDetails { name: n.to_string().into() });
        (names.collect(), Retval::EAGAIN, TableReply { cursor: 3 })
    });
    api.plugin("ping", "0.1.0")
        .call(|_, _: WantPingFinishedEvents| Err(Retval::UNSUPPORTED))
        .call(|_, _: UnionSet| panic!("on purpose"))
        .dump(|_, _: RowDump| {
            (0..100_u32).map(|n| RowDetails { name: n.to_string().into() }).collect()
        });
    let router = Router::default();
    api.finish(&router.clients).unwrap();
    (api, Cli::new(), router)
}

fn crc(name: &str) -> String {
    let (api, ..) = api();
    let found = api.messages().find(|(_, info, _)| info.name == name);
    format!("{:08x}", found.unwrap().2)
}

#[test]
fn crcs_are_those_of_the_worked_examples() {
    assert_eq!(crc("control_ping"), "51077d14");
    assert_eq!(crc("control_ping_reply"), "f6b0b8ca");
    assert_eq!(crc("sw_interface_set_flags_reply"), "e8d4e804");
    assert_eq!(crc("cli_inband"), "f8377302");
    assert_eq!(crc("sockclnt_create"), "455fb9c4");
    assert_eq!(crc("create_loopback"), "42bb5d22");
    assert_eq!(crc("sw_interface_set_flags"), "f5aec1b8");
    assert_eq!(crc("sw_interface_add_del_address"), "5463d73b");
    assert_eq!(crc("sockclnt_create_reply"), "35166268");
    assert_eq!(crc("want_ping_finished_events"), "e79ee58b");
    assert_eq!(crc("sw_interface_event"), "2d3d95a7");
}

#[test]
fn fixed_numbers_stay_what_they_are() {
    let (api, ..) = api();
    let names: Vec<_> = api.messages().map(|(id, info, _)| (id, info.name)).collect();
    let fixed = [(10, "get_first_msg_id"), (15, "sockclnt_create"), (16, "sockclnt_create_reply")];
    let more = [(23, "control_ping"), (25, "memclnt_create_v2"), (28, "get_api_json_reply")];
    for pair in fixed.into_iter().chain(more) {
        assert!(names.contains(&pair), "{pair:?}");
    }
    assert!(names.iter().enumerate().all(|(at, (id, _))| at + 1 == usize::from(*id)), "no holes");
}

fn table(acls: Vec<u32>) -> Table {
    Table { kind: 0x0102, n_input: 9, numbers: [3, 4], acls, rest: "ab".into() }
}

#[test]
fn bytes_are_packed_and_big_endian() {
    let mut bytes = Vec::new();
    Message::encode(&table(vec![1, 0x0a0b_0c0d]), &mut bytes);
    let expected = [1, 2, 2, 9, 0, 3, 0, 4, 0, 0, 0, 1, 10, 11, 12, 13, 0, 0, 0, 2, b'a', b'b'];
    assert_eq!(bytes, expected);
    assert_eq!(Message::decode(&mut Reader::new(&bytes)), Ok(table(vec![1, 0x0a0b_0c0d])));
    for len in 0..bytes.len() {
        assert_eq!(Table::decode(&mut Reader::new(&bytes[..len])), Err(Short), "{len} bytes");
    }
    bytes.clear();
    Message::encode(&table(vec![7; 300]), &mut bytes);
    assert_eq!(Message::decode(&mut Reader::new(&bytes)), Ok(table(vec![7; 255])));
}

#[test]
fn prefixes_are_18_bytes() {
    let prefix: wire::Prefix = "10.1.1.1/24".parse().unwrap();
    let mut bytes = Vec::new();
    Field::encode(&AddressWithPrefix(prefix.into()), &mut bytes);
    assert_eq!(bytes, [0, 10, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24]);
    assert_eq!(<Prefix as Field>::SIZE, 18);
    let back: Prefix = Field::decode(&mut Reader::new(&bytes)).unwrap();
    assert_eq!(back.native(), Ok(prefix));
    bytes[0] = 7;
    let odd: Prefix = Field::decode(&mut Reader::new(&bytes)).unwrap();
    assert_eq!(odd.native(), Err(Retval::INVALID_ADDRESS_FAMILY));
    bytes[0] = 0;
    bytes[17] = 33;
    let long: Prefix = Field::decode(&mut Reader::new(&bytes)).unwrap();
    assert_eq!(long.native(), Err(Retval::INVALID_VALUE));
}

#[test]
fn strings_fill_their_field() {
    let encode = |text: &str| {
        let mut bytes = Vec::new();
        Text::<8>::from(text).encode(&mut bytes);
        bytes
    };
    assert_eq!(encode("abc"), b"abc\0\0\0\0\0");
    assert_eq!(encode("abcdefghij"), b"abcdefg\0");
    assert_eq!(encode("\u{e4}b"), b"?b\0\0\0\0\0\0");
    let text = Text::<8>::decode(&mut Reader::new(b"abcdefgh")).unwrap();
    assert_eq!(&*text, "abcdefgh");
}

#[test]
fn unions_are_read_as_any_arm() {
    let mut bytes = Vec::new();
    Overlay::from(Arms::Small(0x0102)).encode(&mut bytes);
    assert_eq!(bytes, [1, 2, 0, 0, 0, 0]);
    let overlay = Overlay::<Arms>::decode(&mut Reader::new(&bytes)).unwrap();
    assert_eq!(overlay, Overlay::from(Arms::Large([1, 2, 0, 0, 0, 0])));
    assert_eq!(overlay.read::<u16>(), Ok(0x0102));
    assert_eq!(overlay.read::<[u8; 6]>(), Ok([1, 2, 0, 0, 0, 0]));
    assert_eq!(overlay.read::<Ipv4Addr>(), Ok(Ipv4Addr::new(1, 2, 0, 0)));
}

#[test]
fn calls_are_answered_and_events_come_behind_the_reply() {
    let (api, cli, mut router) = api();
    let clients = router.clients.clone();
    let local = Local::new(&api, &cli, &clients);
    let reply = local.call(&mut router, &CreateLoopback { mac_address: MacAddr::ZERO });
    assert_eq!(reply, Ok(CreateLoopbackReply { sw_if_index: Index(7) }));
    let set = |index| SwInterfaceSetFlags {
        sw_if_index: Index(index),
        flags: IfStatusFlags::ADMIN_UP.with(IfStatusFlags::LINK_UP, true),
    };
    let refused = local.call(&mut router, &set(u32::MAX));
    assert_eq!(refused, Err(Retval::INVALID_SW_IF_INDEX));
    local.call(&mut router, &set(7)).unwrap();
    let mut request = api.id("sw_interface_set_flags").unwrap().to_be_bytes().to_vec();
    request.extend(local.index().to_be_bytes());
    request.extend([0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0, 7, 0, 0, 0, 2]);
    let answers = local.send(&mut router, &request).unwrap();
    let id = |name: &str| api.id(name).unwrap().to_be_bytes();
    let reply = [&id("sw_interface_set_flags_reply")[..], &[0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0, 0]];
    let event = [
        &id("sw_interface_event")[..],
        &local.index().to_be_bytes(),
        &[0, 0, 0, 99, 0, 0, 0, 7, 0, 0, 0, 2, 0],
    ];
    assert_eq!(answers, [reply.concat(), event.concat()]);
    assert_eq!(router.flags, 2);
    // What was not made has no index, and 0 is one.
    let mut request = id("create_loopback").to_vec();
    request.extend(local.index().to_be_bytes());
    request.extend([0xaa, 0xbb, 0xcc, 0xdd, 1, 1, 1, 1, 1, 1]);
    let answers = local.send(&mut router, &request).unwrap();
    let reply = [&id("create_loopback_reply")[..], &[0xaa, 0xbb, 0xcc, 0xdd]].concat();
    let retval = Retval::INVALID_VALUE.0.to_be_bytes();
    assert_eq!(answers, [[&reply[..], &retval, &[0xff; 4]].concat()]);
    let client = local.index();
    drop(local);
    assert!(!router.clients.is_wanted::<SwInterfaceEvent>() && !clients.is_connected(client));
}

#[test]
fn tables_come_row_by_row_and_streams_end_with_a_reply() {
    let (api, cli, mut router) = api();
    let clients = router.clients.clone();
    let local = Local::new(&api, &cli, &clients);
    assert_eq!(local.dump(&mut router, &RowDump {}).len(), 100);
    let (rows, retval, reply) = local.stream(&mut router, &table(vec![5, 6]));
    assert_eq!((rows.len(), retval, reply), (2, -165, TableReply { cursor: 3 }));
}

#[test]
fn a_panic_is_an_error_of_one_request() {
    let (api, cli, mut router) = api();
    let clients = router.clients.clone();
    let local = Local::new(&api, &cli, &clients);
    let mut request = api.id("union_set").unwrap().to_be_bytes().to_vec();
    request.extend(local.index().to_be_bytes());
    request.extend([0; 10]);
    assert_eq!(local.send(&mut router, &request), Err(Ignored::Panic("union_set")));
    let out = clients.take(local.index());
    assert_eq!(split(&out.bytes)[0][6..], [0xff; 4], "an answer comes nevertheless");
}

#[test]
fn short_messages_and_hostile_counts_are_refused() {
    let (api, cli, mut router) = api();
    let clients = router.clients.clone();
    let local = Local::new(&api, &cli, &clients);
    let id = api.id("sock_init_shm").unwrap();
    let mut request = id.to_be_bytes().to_vec();
    request.extend(local.index().to_be_bytes());
    request.extend([0, 0, 0, 0, 0, 0, 0, 0, 255, 1]);
    assert_eq!(local.send(&mut router, &request), Err(Ignored::Short("sock_init_shm")));
    assert_eq!(local.send(&mut router, &[]), Err(Ignored::Empty));
    assert_eq!(local.send(&mut router, &[0xff, 0xff]), Err(Ignored::Unknown(0xffff)));
    let mut request = api.id("rpc_call").unwrap().to_be_bytes().to_vec();
    request.extend(local.index().to_be_bytes());
    request.extend([0; 15]);
    request.extend([0xff; 4]);
    assert_eq!(local.send(&mut router, &request), Err(Ignored::Short("rpc_call")));
}

#[test]
fn a_message_with_the_number_of_another_client_is_answered_to_its_sender() {
    let (api, cli, mut router) = api();
    let clients = router.clients.clone();
    let (local, other) = (Local::new(&api, &cli, &clients), Local::new(&api, &cli, &clients));
    for named in [other.index(), 0, u32::MAX] {
        let mut request = api.id("control_ping").unwrap().to_be_bytes().to_vec();
        request.extend(named.to_be_bytes());
        request.extend([0; 4]);
        assert_eq!(local.send(&mut router, &request).map(|answers| answers.len()), Ok(1));
        assert!(clients.take(other.index()).bytes.is_empty());
    }
}

#[test]
fn commands_are_carried_out_and_their_errors_are_text() {
    let (api, cli, mut router) = api();
    let clients = router.clients.clone();
    let local = Local::new(&api, &cli, &clients);
    let mut ask = |cmd: &str| {
        let mut request = api.id("cli_inband").unwrap().to_be_bytes().to_vec();
        request.extend(local.index().to_be_bytes());
        request.extend([0; 4]);
        cmd.to_owned().encode(&mut request);
        let answer = local.send(&mut router, &request).unwrap().remove(0);
        let retval = i32::from_be_bytes(answer[6..10].try_into().unwrap());
        (retval, String::decode(&mut Reader::new(&answer[10..])).unwrap())
    };
    assert_eq!(ask("echo hello\n"), (0, "hello\n".into()));
    assert_eq!(ask("bogus cmd"), (-1, "unknown input `bogus cmd'\n".into()));
    assert_eq!(ask("echo a\nbogus\necho b"), (-1, "a\nunknown input `bogus'\n".into()));
    assert_eq!(ask(""), (-1, "unknown input `'\n".into()));
}

#[test]
fn two_messages_of_one_name_are_an_error() {
    let mut api = Api::<Router>::new();
    api.core("a", "1.0.0").call(|_, _: UnionSet| Ok(()));
    api.core("b", "1.0.0").call(|_, _: UnionSet| Ok(()));
    assert_eq!(api.finish(&Clients::default()), Err(Unnumbered::Duplicate("union_set")));
}

#[test]
fn messages_come_and_go_and_keep_their_numbers() {
    let (mut api, _, router) = api();
    let numbers = |api: &Api<Router>| api.messages().map(|m| (m.0, m.1.name)).collect::<Vec<_>>();
    let before = numbers(&api);
    let add = |api: &mut Api<Router>, owner: u32, other: bool| {
        let _entered = Owner(owner).enter();
        let mut module = api.plugin("late", "1.0.0");
        if other {
            module.call(|_, _: LateSet| Ok(()));
        } else {
            module.call(|_, _: LateGet| Ok(()));
        }
        api.finish(&router.clients)
    };
    let remove = |api: &mut Api<Router>, owner: u32| {
        api.remove_all_of(Owner(owner));
        api.finish(&router.clients).unwrap();
    };
    add(&mut api, 1, false).unwrap();
    let first = api.id("late_get").unwrap();
    assert_eq!(first as usize, before.len() + 1);
    let range = |first| Some((first, first + 1));
    let directory = || router.clients.directory();
    let late = || directory().ranges.iter().find(|r| r.0.starts_with("late_")).map(|r| (r.1, r.2));
    assert_eq!(late(), range(first));
    remove(&mut api, 1);
    assert_eq!((numbers(&api), late()), (before.clone(), None));
    assert!(files(&api).iter().all(|f| f.path != "plugins/late.api.json"));
    // Another message never gets the number of one that clients may still know.
    add(&mut api, 2, true).unwrap();
    assert_eq!(api.id("late_set"), Some(first + 2));
    remove(&mut api, 2);
    for _ in 0..3 {
        add(&mut api, 3, false).unwrap();
        assert_eq!((api.id("late_get"), late()), (Some(first), range(first)));
        remove(&mut api, 3);
    }
    // Nor is one lost to a plugin that declares a message there is.
    let entered = Owner(4).enter();
    api.plugin("late", "1.0.0").call(|_, _: UnionSet| Err(Retval::NO_SUCH_ENTRY));
    drop(entered);
    assert_eq!(api.finish(&router.clients), Err(Unnumbered::Duplicate("union_set")));
    api.remove_all_of(Owner(4));
    api.finish(&router.clients).unwrap();
    assert_eq!(numbers(&api), before);
}

/// A message that is not always there.
#[derive(Message)]
struct LateGet {}

/// Another one.
#[derive(Message)]
struct LateSet {}

#[test]
fn files_describe_modules_and_the_types_they_share() {
    let (api, _, router) = api();
    let files = files(&api);
    let paths: Vec<_> = files.iter().map(|f| f.path.as_str()).collect();
    for path in ["core/memclnt", "core/vlib", "core/interface", "plugins/ping", "core/ip_types"] {
        assert!(paths.contains(&format!("{path}.api.json").as_str()), "{path} in {paths:?}");
    }
    let ping = &files.iter().find(|f| f.path == "plugins/ping.api.json").unwrap().json;
    let want = &ping["messages"][0];
    assert_eq!(want[0], "want_ping_finished_events");
    assert_eq!(want[4], serde_json::json!(["vl_api_address_t", "address"]));
    assert_eq!(want[5], serde_json::json!(["u32", "repeat", {"default": 1}]));
    assert_eq!(want[7]["crc"], "0xe79ee58b");
    assert_eq!(
        ping["services"]["row_dump"],
        serde_json::json!({"reply": "row_details", "stream": true})
    );
    let interface = &files.iter().find(|f| f.path == "core/interface.api.json").unwrap().json;
    let services = &interface["services"];
    assert_eq!(services["sw_interface_set_flags"]["events"][0], "sw_interface_event");
    assert_eq!(services["table"]["stream_msg"], "row_details");
    let directory = router.clients.directory();
    let ranges: Vec<_> = directory.ranges.iter().map(|(_, first, last)| (*first, *last)).collect();
    assert_eq!(ranges[0].0, 29, "numbers below are fixed");
    assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "no holes: {ranges:?}");
}

#[test]
fn messages_become_json_and_back() {
    let want = WantPingFinishedEvents {
        address: std::net::IpAddr::from([10, 0, 0, 1]).into(),
        repeat: 3,
        interval: 0.5,
    };
    let mut bytes = vec![0; 8];
    Message::encode(&want, &mut bytes);
    let value = json::of_message(WantPingFinishedEvents::INFO, 1, &bytes, Kept).unwrap();
    assert_eq!(value["address"], "10.0.0.1");
    assert_eq!(json::to_message(WantPingFinishedEvents::INFO, &value), Ok(bytes));
    let mut bytes = vec![0; 8];
    Message::encode(&table(vec![5, 6]), &mut bytes);
    let value = json::of_message(Table::INFO, 1, &bytes, Kept).unwrap();
    assert_eq!((&value["acls"][1], &value["count"]), (&6.into(), &2.into()));
    assert_eq!(json::to_message(Table::INFO, &value), Ok(bytes));
    let wrong = serde_json::json!({ "type": "many" });
    assert_eq!(json::to_message(Table::INFO, &wrong), Err(r#"type: "many""#.to_owned()));
}
