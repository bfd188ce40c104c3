//! What tests of routing start from: a router whose graph is a test graph, with the features under
//! test and everything else in sinks. Each part's tests add what they need to [`Rig`].

use control::api::{Api, Local};
use control::cli::Cli;
use control::log::Log;
use graph::Settings;
use graph::testing::TestGraph;
use wire::MacAddr;

use crate::interface::{InterfaceIndex, Kind, NewInterface, Offloads};
use crate::ip::testing::Transmit;
use crate::router::{Feature, Parts, Router};
use crate::{drops, interface};

pub(crate) struct Rig {
    pub graph: TestGraph,
    pub router: Router,
    pub cli: Cli<Router>,
    pub api: Api<Router>,
}

impl Rig {
    /// With these features behind those that all need.
    pub fn new(features: &[Feature]) -> Self {
        let new = Router::new(Settings { buffers: 64, ..Settings::default() }, Log::new());
        let mut router = new.unwrap();
        let (graph, parts) = TestGraph::new(|engine| {
            // The router works on the engine under test while it is built.
            std::mem::swap(engine, &mut router.engine);
            let mut parts = Parts::new(router);
            // Interfaces come later: the graph is to know where they send.
            parts.router.engine.add(Transmit)?;
            for feature in [drops::FEATURE, interface::FEATURE].iter().chain(features) {
                (feature.register)(&mut parts).unwrap();
            }
            std::mem::swap(engine, &mut parts.router.engine);
            Ok(parts)
        });
        let Parts { router, cli, mut api } = parts;
        cli.check().unwrap();
        api.finish(&router.clients).unwrap();
        Self { graph, router, cli, api }
    }
    /// An interface that is up, with `02:00:00:00:00:MAC` if it is of Ethernet.
    pub fn add_interface(&mut self, name: &str, kind: Kind, mac: u8) -> InterfaceIndex {
        let is_ethernet = kind == Kind::Ethernet;
        let new = NewInterface {
            name: name.to_owned(),
            kind,
            hardware: "test",
            mac: if is_ethernet { MacAddr([2, 0, 0, 0, 0, mac]) } else { MacAddr::ZERO },
            mtu: 9000,
            offloads: Offloads::default(),
            link_follows_admin: true,
        };
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
    /// Does something with the router and the engine under test.
    pub fn control<R>(&mut self, work: impl FnOnce(&mut Router) -> R) -> R {
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        let done = work(&mut self.router);
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        done
    }
    /// Carries out commands; returns what they print.
    pub fn run(&mut self, lines: &str) -> String {
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        let text = self.cli.run(&mut self.router, lines).text();
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        text
    }
    /// Carries out commands that print nothing.
    #[track_caller]
    pub fn set(&mut self, lines: &str) {
        assert_eq!(self.run(lines), "", "{lines}");
    }
    /// Lets `work` talk to the router as a client of the binary API does.
    pub fn talk<R>(&mut self, work: impl FnOnce(&Local<'_, Router>, &mut Router) -> R) -> R {
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        let local = Local::new(&self.api, &self.cli, &self.router.clients);
        let done = work(&local, &mut self.router);
        std::mem::swap(&mut self.graph.engine, &mut self.router.engine);
        done
    }
    pub fn interface(&self, name: &str) -> InterfaceIndex {
        self.router.interfaces.named(name).unwrap().index
    }
}
