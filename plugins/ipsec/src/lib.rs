//! IPsec (RFC 4301): security associations with ESP (RFC 4303) and AH (RFC 4302), policies that
//! apply them to packets of interfaces, and protected tunnels.
#![forbid(unsafe_code)]

mod ah;
mod api;
mod association;
mod cli;
mod cut;
mod decrypt;
mod encrypt;
mod esp;
mod flows;
mod list;
mod outside;
mod protect;
mod runs;
mod sa;
mod said;
mod seal;
mod select;
mod selector;
mod show;
mod spd;
mod startup;

use graph::{Claim, HandOff, Payload, Reason};
use infra::counter::{Counter, Rows};
use net::fib;
use net::ip::Stacked;
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;

pub use api::*;
pub use esp::{Flaw, Keys, Opened};
pub use protect::{GRE, hold, listen, remove as unprotect, update as protect};
pub use sa::{
    Config, Sa, Used, add as add_sa, index, remove as remove_sa, replace as replace_sa, used,
};
pub use selector::{Selector, Selectors};
pub use spd::{Action, Policy};

use flows::Flows;
use sa::Kept;
use spd::Spd;
use startup::Settings;

/// Counters of associations under `/net/ipsec/sa/err`.
const ERRORS: [&str; 17] = [
    "lost",
    "handoff",
    "integ_error",
    "decryption_failed",
    "crypto_engine_error",
    "replay",
    "runt",
    "no_buffers",
    "oversized_header",
    "no_tail_space",
    "tun_no_proto",
    "unsup_payload",
    "seq_cycled",
    "crypto_queue_full",
    "no_encryption",
    "drop_fragments",
    "not_selected",
];

/// Data that travels with a packet to the node that encrypts or decrypts it.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Work {
    /// Security association.
    sa: u32,
    /// Length of the layer 2 header of a packet to encrypt, or of the headers before ESP or AH of a
    /// packet to decrypt.
    front: u32,
    /// The protected tunnel that received it.
    via: u32,
}

impl Payload for Work {
    const NAME: &'static str = "ipsec-work";
}

/// Setting of an interface: the index of its policy database.
#[derive(Clone, Debug, Default, PartialEq)]
struct Applied(Option<u32>);

/// Counters of associations by reason.
#[derive(Clone)]
struct SaErrors(Vec<Rows<Counter>>);

impl SaErrors {
    fn zero(&self, thread: usize, at: usize) {
        self.0.iter().for_each(|rows| rows.zero(thread, at..at + 1));
    }
}

/// SAs for the nodes.
#[derive(Clone)]
struct Associations {
    sas: SlabReader<Sa>,
    counters: Rows<VolumeCounter>,
    errors: SaErrors,
    threads: Reader<Range<usize>>,
}

impl Associations {
    /// The thread of an SA.
    #[inline(always)]
    fn thread_of(&self, sa: &Sa, thread: usize, epoch: Epoch<'_>) -> usize {
        let threads = self.threads.read(epoch);
        if !threads.contains(&thread) {
            return thread;
        }
        sa.state.owner.claim(thread, |owner| threads.contains(&owner))
    }
    #[inline(always)]
    fn count(&self, thread: usize, sa: u32, bytes: u64) {
        if let Some(counter) = self.counters.row(thread).get(sa as usize) {
            counter.add(1, bytes);
        }
    }
    /// Counts packets.
    #[inline(always)]
    fn count_all(&self, thread: usize, sa: u32, run: Volume) {
        if let Some(counter) = self.counters.row(thread).get(sa as usize) {
            counter.add(run.packets, run.bytes);
        }
    }
    #[inline(always)]
    fn count_lost(&self, thread: usize, sa: u32, lost: u64) {
        if lost > 0 {
            self.add(thread, sa, 0, lost);
        }
    }
    fn add(&self, thread: usize, sa: u32, at: usize, n: u64) {
        let row = self.errors.0.get(at).map(|rows| rows.row(thread));
        if let Some(counter) = row.and_then(|row| row.get(sa as usize)) {
            counter.add(n);
        }
    }
    /// Counts a drop for its SA.
    #[cold]
    fn refuse<R: Reason>(&self, thread: usize, sa: u32, why: R) {
        let name = R::TEXTS.get(why.index()).map_or("", |text| text.name);
        if let Some(at) = ERRORS.iter().position(|error| *error == name) {
            self.add(thread, sa, at, 1);
        }
    }
}

/// State of the control thread.
struct Ipsec {
    sas: SharedSlab<Sa>,
    by_id: HashMap<u32, u32>,
    kept: HashMap<u32, Kept>,
    counters: Rows<VolumeCounter>,
    errors: SaErrors,
    spds: SharedSlab<Spd>,
    spd_by_id: HashMap<u32, u32>,
    /// Number of policies added so far.
    added: u64,
    settings: Settings,
    /// Versions of inbound and outbound policies.
    versions: [u64; 2],
    /// Cache counters of threads, as in `flows`: inbound, then outbound.
    flows: Rows<Counter>,
    /// Number of counters allocated to policies so far, and freed ones.
    policies: u32,
    free_policies: Vec<u32>,
    policy_counters: Rows<VolumeCounter>,
    threads: Shared<Range<usize>>,
    is_async: bool,
}

/// Reasons for refusing a request.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no security association {0}
    #[retval(NO_SUCH_ENTRY)]
    NoSa(u32),
    /// security association {0} exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    SaExists(u32),
    /// no security policy database {0}
    #[retval(NO_SUCH_ENTRY)]
    NoSpd(u32),
    /// security policy database {0} exists
    #[retval(ENTRY_ALREADY_EXISTS)]
    SpdExists(u32),
    /// no such policy
    #[retval(NO_SUCH_ENTRY)]
    NoPolicy,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no such algorithm
    #[retval(UNIMPLEMENTED)]
    Algorithm,
    /// only ESP can protect tunnels
    #[retval(UNIMPLEMENTED)]
    Protocol,
    /// the key must be {0} bytes
    #[retval(INVALID_VALUE)]
    Key(usize),
    /// of Ethernet tunnels, only point-to-point GRE can be protected
    #[retval(UNIMPLEMENTED)]
    Frames,
    /// unsupported combination of algorithms, protocol and mode
    #[retval(INVALID_VALUE)]
    Unfit,
    /// the window is too large
    #[retval(INVALID_VALUE)]
    Window,
    /// different address families
    #[retval(INVALID_ADDRESS_FAMILY)]
    Families,
    /// the first address or port is after the last
    #[retval(INVALID_VALUE)]
    Range,
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// table full
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// the system provides no random numbers
    #[retval(SYSCALL_ERROR_1)]
    NoRandom,
    /// no such worker
    #[retval(INVALID_WORKER)]
    NoWorker,
    /// a worker does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
    /// the interface is not a tunnel that can be protected
    #[retval(INVALID_SW_IF_INDEX)]
    NoTunnel,
    /// the tunnel is not protected
    #[retval(NO_SUCH_ENTRY)]
    NotProtected,
    /// not supported
    #[retval(UNIMPLEMENTED)]
    Unsupported,
    /// instance {0} is in use
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// {0}
    #[retval(UNSPECIFIED)]
    Fib(fib::Error),
    /// {0}
    #[retval(UNSPECIFIED)]
    Interface(net::interface::Error),
}

/// IPsec.
pub const FEATURE: Feature = Feature {
    name: "ipsec",
    about: "IPsec: ESP, AH, policies and protected tunnels",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[
        "crypto",
        "ip4",
        "ip6",
        "icmp",
        "fragment",
        "reassembly",
        "tunnel",
        "teib",
        "mpls",
        "punt",
    ],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn state(router: &mut Router, settings: Settings) -> io::Result<Ipsec> {
    let other = |e| io::Error::other(e);
    let mut errors = Vec::new();
    for name in ERRORS {
        let path = format!("/net/ipsec/sa/err/{name}");
        errors.push(router.stats.simple(&path, sa::COLUMNS).map_err(other)?);
    }
    let counters = router.stats.combined("/net/ipsec/sa", sa::COLUMNS).map_err(other)?;
    Ok(Ipsec {
        sas: SharedSlab::new(sa::MOST)?,
        by_id: HashMap::new(),
        kept: HashMap::new(),
        flows: Rows::new(counters.threads(), 2 * flows::COLUMNS)?,
        counters,
        added: 0,
        settings,
        versions: [1; 2],
        errors: SaErrors(errors),
        spds: SharedSlab::new(spd::MOST_SPDS)?,
        spd_by_id: HashMap::new(),
        policies: 0,
        free_policies: Vec::new(),
        policy_counters: router.stats.combined("/net/ipsec/policy", spd::COLUMNS).map_err(other)?,
        threads: Shared::new(0..usize::MAX),
        is_async: false,
    })
}

fn add_encrypt<const AT: usize>(
    router: &mut Router,
    all: &Associations,
    protecting: &SlabReader<protect::Sealing>,
) -> Result<(), graph::BuildError> {
    let node = encrypt::Encrypt::<AT> {
        all: all.clone(),
        protecting: protecting.clone(),
        stacked: Stacked::new(router),
        adjacencies: router.adjacencies.reader(),
        onwards: runs::Onwards::new(router),
        sequence: infra::cpu::time_stamp().unwrap_or_default(),
    };
    router.engine.add(HandOff(encrypt::ByAssociation(node.clone())))?;
    router.engine.add(node).map(drop)
}

fn add_decrypt<const AT: usize>(
    router: &mut Router,
    all: &Associations,
    carried: &SlabReader<protect::Carried>,
) -> Result<(), graph::BuildError> {
    let received = router.interfaces.counters().rx.clone();
    let (all, carried) = (all.clone(), carried.clone());
    router.engine.add(HandOff(decrypt::ByAssociation::<AT>(all.clone())))?;
    router.engine.add(decrypt::Decrypt::<AT> { all, carried, received }).map(drop)
}

fn add_nodes(
    router: &mut Router,
    ipsec: &Ipsec,
    protect: &protect::Protect,
) -> Result<(), graph::BuildError> {
    let all = Associations {
        sas: ipsec.sas.reader(),
        counters: ipsec.counters.clone(),
        errors: ipsec.errors.clone(),
        threads: ipsec.threads.reader(),
    };
    let (protecting, carried) = (protect.by_adjacency(), protect.carried());
    add_encrypt::<0>(router, &all, &protecting)?;
    add_encrypt::<1>(router, &all, &protecting)?;
    add_encrypt::<2>(router, &all, &protecting)?;
    add_encrypt::<3>(router, &all, &protecting)?;
    add_encrypt::<4>(router, &all, &protecting)?;
    add_encrypt::<5>(router, &all, &protecting)?;
    add_encrypt::<6>(router, &all, &protecting)?;
    add_decrypt::<0>(router, &all, &carried)?;
    add_decrypt::<1>(router, &all, &carried)?;
    add_decrypt::<2>(router, &all, &carried)?;
    add_decrypt::<3>(router, &all, &carried)?;
    add_decrypt::<4>(router, &all, &carried)?;
    add_decrypt::<5>(router, &all, &carried)
}

fn add_features(router: &mut Router, ipsec: &Ipsec) -> Result<(), Refused> {
    let policies = select::Policies {
        applied: router.attach::<Applied>().map_err(refuse)?,
        spds: ipsec.spds.reader(),
        sas: ipsec.sas.reader(),
        counters: ipsec.policy_counters.clone(),
    };
    let adjacencies = router.adjacencies.reader();
    let (input, output) = (select::INPUT, select::OUTPUT);
    let flows = |count, column| Flows::new(count, ipsec.flows.clone(), column);
    let [flows_in, flows_out] = ipsec.settings.flows;
    let in4 = select::Input::<false> { policies: policies.clone(), flows: flows(flows_in, 0) };
    let in6 = select::Input::<true> { policies: policies.clone(), flows: flows(0, 0) };
    let out4 = select::Output::<false> {
        policies: policies.clone(),
        adjacencies: adjacencies.clone(),
        flows: flows(flows_out, flows::COLUMNS),
        sequence: 0,
    };
    let out6 = select::Output::<true> { policies, adjacencies, flows: flows(0, 0), sequence: 0 };
    let add = |router: &mut Router| {
        router.engine.add_feature(&IP4_UNICAST, in4)?;
        router.engine.add_feature(&IP6_UNICAST, in6)?;
        router.engine.add_feature(&IP4_OUTPUT, out4)?;
        router.engine.add_feature(&IP6_OUTPUT, out6)
    };
    add(router).map_err(refuse)?;
    let at = |arc, node| AttachedAt::<Applied> { arc, node, is_on: |applied| applied.0.is_some() };
    router.attach_at([
        at(&IP4_UNICAST, input[0]),
        at(&IP6_UNICAST, input[1]),
        at(&IP4_OUTPUT, output[0]),
        at(&IP6_OUTPUT, output[1]),
    ]);
    Ok(())
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let settings = startup::read(parts)?;
    let router = &mut *parts.router;
    let marks = Claim::of("ipsec", select::OPENED.with(select::SEALED));
    router.engine.claim(marks).map_err(refuse)?;
    let ipsec = state(router, settings).map_err(refuse)?;
    let protect = protect::Protect::new().map_err(refuse)?;
    add_nodes(router, &ipsec, &protect).map_err(refuse)?;
    add_features(router, &ipsec)?;
    router.insert(ipsec);
    router.insert(protect);
    protect::register(router)?;
    router.interfaces.observe(spd::interface_changed);
    router.on_threads.push(|router, stay| {
        router.own_mut::<Ipsec>().threads.publish(stay.clone());
        Ok(())
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
