//! Rigs for tests: a router on a test graph, with the features under test and everything else in
//! sinks. [`Bench`] has the nodes of IP and two interfaces; it is what a plugin's tests start from.
//! [`whole::Bench`] is a whole router with hosts on its links.
#![forbid(unsafe_code)]

pub mod alike;

use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use control::api::{Api, Local};
use control::cli::Cli;
use control::log::Log;
use graph::testing::TestGraph;
use graph::{Engine, Frame, Node, Settings};
use wire::MacAddr;

use crate::interface::{InterfaceIndex, Kind, NewInterface, Offloads};
use crate::router::{Assembly, Feature, Router};
use crate::{drops, interface};

pub use crate::ip::testing::{Bench, NEIGHBOR, packets};
pub use crate::neighbor::testing as whole;

/// Transmit node of interfaces under test.
#[derive(Clone)]
pub struct Transmit;

/// Edges of [`Transmit`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// A sink: what got there was sent.
    #[to("sent")]
    Sent,
}

impl Node for Transmit {
    const NAME: &'static str = "test-tx";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.forward_all(Next::Sent);
    }
}

/// A router on a test graph.
pub struct Rig {
    /// The graph.
    pub graph: TestGraph,
    /// The router; its engine is that of the graph only within [`Rig::connected`].
    pub router: Router,
    /// Its commands.
    pub cli: Cli<Router>,
    /// Its messages.
    pub api: Api<Router>,
}

impl Rig {
    /// With these features behind those that all need.
    pub fn new(features: &[Feature]) -> Self {
        Self::made(1, features, |_| (), |_| ()).0
    }
    /// As if there were `threads` of them, with what `first` adds before the features register and
    /// `then` before the graph is built.
    pub fn made<T>(
        threads: usize,
        features: &[Feature],
        first: impl FnOnce(&mut Router),
        then: impl FnOnce(&mut Router) -> T,
    ) -> (Self, T) {
        let settings = |buffers| {
            let workers = vec![None; threads - 1]; // numbers start from 0
            Settings { buffers, workers, ..Settings::default() }
        };
        let start = |engine: &mut Engine| engine.start_inline_threads(threads);
        let mut router = Router::new(settings(64), Log::new()).unwrap();
        let is_new = |base: &&Feature| features.iter().all(|f| f.name != base.name);
        let (graph, (whole, made)) = TestGraph::with(settings(4096), start, |engine| {
            // The router works on the engine under test while it is built.
            std::mem::swap(engine, &mut router.engine);
            first(&mut router);
            let mut whole = Assembly::new(router);
            // Interfaces come later: the graph is to know where they send.
            whole.router.engine.add(Transmit)?;
            let base = [drops::FEATURE, interface::FEATURE];
            let on = features.iter().filter(|f| f.default_enabled);
            for feature in base.iter().filter(is_new).chain(on) {
                whole.add(feature).unwrap();
            }
            let made = then(&mut whole.router);
            std::mem::swap(engine, &mut whole.router.engine);
            Ok((whole, made))
        });
        let Assembly { router, cli, mut api } = whole;
        cli.check().unwrap();
        api.finish(&router.clients).unwrap();
        (Self { graph, router, cli, api }, made)
    }
    /// An interface that is up, with `02:00:00:00:00:MAC` if it is of Ethernet.
    pub fn add_interface(&mut self, name: &str, kind: Kind, mac: u8) -> InterfaceIndex {
        let is_ethernet = kind == Kind::Ethernet;
        let mac = if is_ethernet { MacAddr([2, 0, 0, 0, 0, mac]) } else { MacAddr::ZERO };
        let new = NewInterface { kind, ..new_interface(name, mac) };
        self.control(|router| {
            let index = router.add_interface(new, Transmit).unwrap();
            router.set_admin(index, true);
            index
        })
    }
    /// `pg0` and so on up to `count`, with 10.0.N.1/24 and 2001:db8:N::1/64 on them.
    pub fn add_networks(&mut self, count: u8) {
        for n in 0..count {
            self.add_interface(&format!("pg{n}"), Kind::Ethernet, n);
            self.set(&format!("set interface ip address pg{n} 10.0.{n}.1/24"));
            self.set(&format!("set interface ip address pg{n} 2001:db8:{n}::1/64"));
        }
    }
    /// Does something with all of it, the router being on the engine under test.
    pub fn connected<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        let done = work(self);
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        done
    }
    /// Does something with the router.
    pub fn control<R>(&mut self, work: impl FnOnce(&mut Router) -> R) -> R {
        self.connected(|rig| work(&mut rig.router))
    }
    /// Runs commands; returns their output.
    pub fn run(&mut self, lines: &str) -> String {
        self.attempt(lines).unwrap_or_else(|error| error)
    }
    /// Runs commands; returns their output, or the text with their error.
    pub fn attempt(&mut self, lines: &str) -> Result<String, String> {
        let done = self.connected(|rig| rig.cli.run(&mut rig.router, lines));
        let text = done.text();
        if done.result.is_err() { Err(text) } else { Ok(text) }
    }
    /// Runs commands without output.
    #[track_caller]
    pub fn set(&mut self, lines: &str) {
        assert_eq!(self.run(lines), "", "{lines}");
    }
    /// Lets `work` talk to the router as a client of the binary API does.
    pub fn talk<R>(&mut self, work: impl FnOnce(&Local<'_, Router>, &mut Router) -> R) -> R {
        self.connected(|rig| {
            let local = Local::new(&rig.api, &rig.cli, &rig.router.clients);
            work(&local, &mut rig.router)
        })
    }
    /// Checks that these counters moved and no others, and that no buffer is lost.
    #[track_caller]
    pub fn expect(&mut self, counters: &[(&str, &str, u64)]) {
        self.graph.expect_counters(counters);
        assert_eq!(self.graph.buffers_used(), 0, "buffers in use");
    }
    /// The number of an interface.
    pub fn interface(&self, name: &str) -> InterfaceIndex {
        self.router.interfaces.named(name).unwrap().index
    }
}

/// An Ethernet interface that is up when it is to be, and leaves nothing to its device.
pub fn new_interface(name: &str, mac: MacAddr) -> NewInterface {
    NewInterface {
        name: name.to_owned(),
        kind: Kind::Ethernet,
        hardware: "test",
        mac,
        mtu: 9000,
        offloads: Offloads::default(),
        link_follows_admin: true,
    }
}

/// A rig with two interfaces; `Of` tells apart what else it has, and is able to do.
pub struct Pair<Of> {
    rig: Rig,
    /// The first interface.
    pub pg0: InterfaceIndex,
    /// The second one.
    pub pg1: InterfaceIndex,
    of: PhantomData<Of>,
}

impl<Of> Pair<Of> {
    /// From a rig and its interfaces.
    pub fn of((rig, (pg0, pg1)): (Rig, (InterfaceIndex, InterfaceIndex))) -> Self {
        Self { rig, pg0, pg1, of: PhantomData }
    }
}

impl<Of> Deref for Pair<Of> {
    type Target = Rig;
    fn deref(&self) -> &Rig {
        &self.rig
    }
}

impl<Of> DerefMut for Pair<Of> {
    fn deref_mut(&mut self) -> &mut Rig {
        &mut self.rig
    }
}
