//! Many agents against a model of the store and of routers, over a network that delays and loses,
//! with agents and routers that are killed. Each run follows from its seed.
//!
//! `FERROVIA_SCHEDULES=100000 cargo test -p ferrovia-agent simulation` runs that many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use control::configuration::Hash;

use crate::desired::{Order as Wish, Record, Records, order, resolve};
use crate::machine::{Drift, Event, Machine, Order, Orphan, Own, Running, State, Trouble};

/// A generator of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
    /// Whether something happens that does so once in `n` times.
    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    fn seconds(&mut self, most: f64) -> f64 {
        self.below(1_000_000) as f64 / 1e6 * most
    }
}

/// The store: every value that the keys of each router ever had.
#[derive(Default)]
struct Store {
    revision: u64,
    history: BTreeMap<usize, Vec<(u64, String, Vec<u8>)>>,
}

impl Store {
    fn put(&mut self, node: usize, key: &str, value: impl Into<Vec<u8>>) {
        self.revision += 1;
        let key = format!("routers/{}/{key}", name(node));
        self.history.entry(node).or_default().push((self.revision, key, value.into()));
    }
    /// The keys of a router as they were at a revision.
    fn at(&self, node: usize, revision: u64) -> Records {
        let all = self.history.get(&node).into_iter().flatten();
        let record = |(modified, key, value): &(u64, String, Vec<u8>)| {
            (key.clone(), Record { value: value.clone(), modified: *modified })
        };
        all.filter(|(at, ..)| *at <= revision).map(record).collect()
    }
}

/// A router: the fleet's lines begin with `f`, those of its operator with `o`.
struct Router {
    lines: BTreeSet<String>,
    instance: u64,
    /// Lines that come back at this time unless the change with this name is confirmed.
    back: Option<(f64, BTreeSet<String>, String)>,
}

impl Router {
    fn hash(&self) -> String {
        Hash::of(self.lines.iter().map(String::as_str)).to_string()
    }
    fn fleet(&self) -> BTreeSet<String> {
        self.lines.iter().filter(|line| line.starts_with('f')).cloned().collect()
    }
    fn running(&self) -> Running {
        let lines = self.lines.iter().cloned().collect();
        Running { lines, hash: self.hash(), instance: self.instance.to_string() }
    }
    /// All lines of a patch or none.
    fn patch(&mut self, now: f64, text: &str, base: &str, confirm: Option<(f64, String)>) -> Event {
        if self.hash() != base {
            return Event::Trouble(Trouble::Changed);
        }
        if confirm.is_some() && self.back.is_some() {
            return Event::Trouble(Trouble::Refused(None, "a change waits".to_owned()));
        }
        let mut lines = self.lines.clone();
        for (number, line) in text.lines().enumerate() {
            let refused =
                |why: &str| Event::Trouble(Trouble::Refused(Some(number + 1), why.to_owned()));
            let (sign, command) = line.split_at(2);
            let is_done =
                if sign == "+ " { lines.insert(command.to_owned()) } else { lines.remove(command) };
            if !is_done {
                return refused("is part of it already, or is none");
            }
            if command.contains("bad") && sign == "+ " {
                return refused("bad");
            }
        }
        let before = std::mem::replace(&mut self.lines, lines);
        if let Some((minutes, id)) = confirm {
            self.back = Some((now + minutes * 60.0, before, id));
        }
        Event::Patched(Some(self.hash()))
    }
}

/// An incident.
enum Happening {
    /// An order reaches the router; the answer is lost or not.
    Asked(Order, bool),
    /// An event reaches the agent.
    Event(Event),
    /// The agent asks the store.
    Poll,
    /// Time passes for the agent.
    Tick,
}

struct Node {
    machine: Machine,
    disk: Own,
    /// Run of the agent: events for an earlier one come too late.
    run: u64,
    router: Router,
    /// Revisions that were written for it, and their lines; none where one is bad.
    revisions: BTreeMap<u64, Option<BTreeSet<String>>>,
    cut_until: f64,
    orders: u64,
    patches: u64,
}

struct World {
    random: Random,
    now: f64,
    count: u64,
    /// By time in microseconds: the node, its run and what happens.
    queue: BinaryHeap<Reverse<(u64, u64, usize, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    store: Store,
    nodes: Vec<Node>,
    /// Whether nothing fails any more.
    is_quiet: bool,
    is_repaired: bool,
}

fn name(node: usize) -> String {
    format!("r{node}")
}

impl World {
    fn new(seed: u64, nodes: usize) -> Self {
        let mut random = Random(seed);
        let is_repaired = random.once_in(2);
        let (queue, happenings) = (BinaryHeap::new(), BTreeMap::new());
        let (store, now, count) = (Store::default(), 0.0, 0);
        let mut world = Self {
            random,
            now,
            count,
            queue,
            happenings,
            store,
            nodes: Vec::new(),
            is_quiet: false,
            is_repaired,
        };
        for node in 0..nodes {
            let lines = BTreeSet::from(["o base".to_owned()]);
            world.nodes.push(Node {
                machine: world.machine(Own::default()),
                disk: Own::default(),
                run: 0,
                router: Router { lines, instance: 1, back: None },
                revisions: BTreeMap::new(),
                cut_until: 0.0,
                orders: 0,
                patches: 0,
            });
            world.start(node);
        }
        world
    }

    fn machine(&self, own: Own) -> Machine {
        let drift = if self.is_repaired { Drift::Repair } else { Drift::Report };
        Machine::new(self.now, (Orphan::Keep, drift), own)
    }

    fn start(&mut self, node: usize) {
        let delay = self.random.seconds(1.0);
        self.soon(node, delay, Happening::Poll);
        self.soon(node, delay, Happening::Tick);
    }

    fn soon(&mut self, node: usize, delay: f64, what: Happening) {
        self.count += 1;
        let at = ((self.now + delay) * 1e6) as u64;
        self.queue.push(Reverse((at, self.count, node, self.nodes[node].run)));
        self.happenings.insert(self.count, what);
    }

    fn delay(&mut self) -> f64 {
        let most = if self.random.once_in(20) && !self.is_quiet { 8.0 } else { 0.02 };
        self.random.seconds(most)
    }

    fn is_lost(&mut self) -> bool {
        !self.is_quiet && self.random.once_in(15)
    }

    /// Whether the agent of a node is cut off from the store.
    fn is_cut(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        self.now < node.cut_until || node.router.lines.iter().any(|line| line.contains("cut"))
    }

    fn run(&mut self, until: f64) {
        while let Some(Reverse((at, key, node, run))) = self.queue.peek().copied() {
            if at as f64 / 1e6 > until {
                break;
            }
            self.queue.pop();
            self.now = at as f64 / 1e6;
            let Some(what) = self.happenings.remove(&key) else { continue };
            self.go_back(node);
            let is_late = self.nodes[node].run != run;
            match what {
                Happening::Asked(order, is_lost) => self.ask(node, order, is_lost, is_late),
                _ if is_late => {}
                Happening::Event(event) => self.tell(node, event),
                Happening::Poll => self.poll(node),
                Happening::Tick => {
                    self.soon(node, 0.5, Happening::Tick);
                    self.tell(node, Event::Tick);
                }
            }
        }
        self.now = until;
        (0..self.nodes.len()).for_each(|node| self.go_back(node));
    }

    /// The router itself undoes a change that was not confirmed.
    fn go_back(&mut self, node: usize) {
        let now = self.now;
        let router = &mut self.nodes[node].router;
        if let Some((_, before, _)) = router.back.take_if(|(at, ..)| *at <= now) {
            router.lines = before;
        }
    }

    fn tell(&mut self, node: usize, event: Event) {
        let orders = self.nodes[node].machine.take(self.now, event);
        self.nodes[node].orders += orders.len() as u64;
        for order in orders {
            if !self.is_quiet && self.random.once_in(60) {
                return self.kill_agent(node);
            }
            match order {
                Order::Keep(own) => self.nodes[node].disk = own,
                order => {
                    // A socket of the same machine: what is slow is the answer.
                    let (delay, is_lost) = (self.random.seconds(0.02), self.is_lost());
                    self.soon(node, delay, Happening::Asked(order, is_lost));
                }
            }
        }
    }

    fn kill_agent(&mut self, node: usize) {
        self.nodes[node].run += 1;
        let own = self.nodes[node].disk.clone();
        self.nodes[node].machine = self.machine(own);
        self.start(node);
    }

    fn ask(&mut self, node: usize, order: Order, is_lost: bool, is_late: bool) {
        let (now, before) = (self.now, self.nodes[node].router.lines.clone());
        // Half of what is lost never arrives.
        let arrives = !is_lost || self.random.once_in(2);
        self.nodes[node].patches += u64::from(matches!(order, Order::Patch { .. }));
        let router = &mut self.nodes[node].router;
        let mut answer = Event::Trouble(Trouble::Gone("no answer".to_owned()));
        if arrives {
            let done = match order {
                Order::Read(Some((instance, hash)))
                    if instance == router.instance.to_string() && hash == router.hash() =>
                {
                    Event::Same
                }
                Order::Read(_) => Event::Running(router.running()),
                Order::Patch { text, base, confirm } => router.patch(now, &text, &base, confirm),
                Order::Confirm(id) => match router.back.take_if(|(.., name)| *name == id) {
                    Some(_) => Event::Confirmed,
                    None => Event::Trouble(Trouble::Refused(None, "nothing waits".to_owned())),
                },
                Order::Keep(_) => return,
            };
            self.check(node, &before);
            answer = if is_lost { answer } else { done };
        }
        if !is_late {
            let delay = if is_lost { 2.0 } else { self.delay() };
            self.soon(node, delay, Happening::Event(answer));
        }
    }

    /// No router has a mixture of two revisions, or lost a line of its operator.
    fn check(&self, node: usize, before: &BTreeSet<String>) {
        let Node { router, revisions, .. } = &self.nodes[node];
        if router.lines == *before {
            return;
        }
        let fleet = router.fleet();
        let is_whole = revisions.values().flatten().any(|lines| *lines == fleet);
        assert!(is_whole, "r{node} at {}: {fleet:?} is no revision", self.now);
        let own = |lines: &BTreeSet<String>| -> Vec<String> {
            lines.iter().filter(|line| line.starts_with('o')).cloned().collect()
        };
        assert_eq!(own(before), own(&router.lines), "r{node}: lines of the operator");
    }

    fn poll(&mut self, node: usize) {
        self.soon(node, 1.0, Happening::Poll);
        let (delay, asked) = (self.delay(), self.now);
        if self.is_cut(node) || self.is_lost() {
            let lost = Event::Lost("cut".to_owned());
            return self.soon(node, delay, Happening::Event(lost));
        }
        let now = self.store.at(node, self.store.revision);
        let event = match order(&name(node), &now) {
            Err(refusal) => Event::Wrong(refusal),
            Ok(None) => Event::Nothing,
            Ok(Some((wish, modified))) => {
                match resolve(&name(node), &wish, &self.store.at(node, modified), None) {
                    Ok(goal) => Event::Desired(goal),
                    Err(refusal) => Event::Wrong(refusal),
                }
            }
        };
        self.soon(node, delay, Happening::Event(event));
        self.soon(node, delay, Happening::Event(Event::Alive(asked)));
    }

    /// The operator of the fleet writes a revision, section by section, and perhaps not its end.
    fn write(&mut self, node: usize) {
        let revision = self.nodes[node].revisions.keys().last().map_or(1, |last| last + 1);
        let is_bad = !self.is_quiet && self.random.once_in(6);
        let is_cutting = !self.is_quiet && !is_bad && self.random.once_in(6);
        let mut lines = BTreeSet::new();
        for section in 0..3 {
            let mut text = String::new();
            for line in 0..self.random.below(4) {
                let number = self.random.below(6);
                let line = format!("f {section} {line} {number}");
                text += &format!("{line}\n");
                lines.insert(line);
            }
            if section == 1 && (is_bad || is_cutting) {
                let line = format!("f {} {revision}", if is_bad { "bad" } else { "cut" });
                text += &format!("{line}\n");
                lines.insert(line);
            }
            self.store.put(node, &format!("config/{section}"), text);
            if !self.is_quiet && self.random.once_in(20) {
                return;
            }
        }
        let confirm = (is_cutting || self.random.once_in(4)).then_some(0.2);
        let wish = Wish { revision, confirm, ..Wish::default() };
        self.store.put(node, "desired", serde_json::to_vec(&wish).unwrap());
        self.nodes[node].revisions.insert(revision, (!is_bad).then_some(lines));
    }

    fn trouble(&mut self) {
        let node = self.random.below(self.nodes.len() as u64) as usize;
        match self.random.below(6) {
            0 => self.kill_agent(node),
            1 => {
                // The router starts again, with what was saved or without.
                let is_saved = self.random.once_in(2);
                let router = &mut self.nodes[node].router;
                router.instance += 1;
                if !is_saved {
                    router.lines.retain(|line| line.starts_with('o'));
                }
            }
            2 => self.nodes[node].cut_until = self.now + self.random.seconds(40.0),
            3 => {
                let line = format!("o {}", self.random.below(5));
                let router = &mut self.nodes[node].router;
                let back = router.back.as_mut().map(|(_, lines, _)| lines);
                for lines in [Some(&mut router.lines), back].into_iter().flatten() {
                    if !lines.remove(&line) {
                        lines.insert(line.clone());
                    }
                }
            }
            _ => self.write(node),
        }
    }
}

fn schedule(seed: u64, nodes: usize, troubles: u64) {
    let mut world = World::new(seed, nodes);
    (0..nodes).for_each(|node| world.nodes[node].revisions.extend([(0, Some(BTreeSet::new()))]));
    (0..nodes).for_each(|node| world.write(node));
    for _ in 0..troubles {
        let until = world.now + world.random.seconds(12.0 / nodes as f64);
        world.run(until);
        world.trouble();
    }
    world.is_quiet = true;
    world.run(world.now + 30.0);
    for node in 0..nodes {
        world.nodes[node].cut_until = 0.0;
        world.write(node);
    }
    let before: Vec<_> = world.nodes.iter().map(|node| node.orders).collect();
    // A change that cuts the router off is undone first.
    world.run(world.now + 60.0);
    for (at, node) in world.nodes.iter().enumerate() {
        let (_, wanted) = node.revisions.last_key_value().unwrap();
        let status = node.machine.status();
        assert_eq!(
            node.router.fleet(),
            *wanted.as_ref().unwrap(),
            "seed {seed}, r{at}: {status:?}"
        );
        assert_eq!(status.state, State::Converged, "seed {seed}, r{at}: {status:?}");
        // Two looks in five seconds, and what a change needs.
        let orders = node.orders - before[at];
        assert!(orders < 80, "seed {seed}, r{at}: {orders} orders in a minute");
    }
}

#[test]
fn whatever_fails_every_router_has_one_whole_revision_and_in_the_end_the_last() {
    let schedules = std::env::var("FERROVIA_SCHEDULES").ok().and_then(|n| n.parse().ok());
    for seed in 0..schedules.unwrap_or(100_u64) {
        let result = std::panic::catch_unwind(|| schedule(seed, 3, 40));
        assert!(result.is_ok(), "seed {seed}");
    }
}

#[test]
fn two_thousand_routers_come_to_their_last_revision() {
    schedule(1, 2000, 10_000);
}

#[test]
fn a_change_that_cuts_the_router_off_is_tried_once() {
    for seed in 0..50 {
        let mut world = World::new(seed, 1);
        (world.is_quiet, world.is_repaired) = (true, false);
        world.nodes[0].revisions.insert(0, Some(BTreeSet::new()));
        let lines = BTreeSet::from(["f 1".to_owned(), "f cut".to_owned()]);
        world.store.put(0, "config/1", "f 1\nf cut");
        let wish = Wish { revision: 1, confirm: Some(0.1), ..Wish::default() };
        world.store.put(0, "desired", serde_json::to_vec(&wish).unwrap());
        world.nodes[0].revisions.insert(1, Some(lines));
        world.run(200.0);
        let node = &world.nodes[0];
        let status = node.machine.status();
        assert_eq!((node.patches, status.state), (1, State::Refused), "seed {seed}: {status:?}");
        assert!(node.router.fleet().is_empty());
    }
}
