//! Changes of settings, by commands and messages.

use std::ops::RangeInclusive;

use infra::counter::Rows;
use infra::meter::Color;
use net::prelude::*;
use qos::Source;

use super::core::Core;
use super::node::Output;
use super::plan::{
    CLASSES, COLORS, Config, Level, MOST_TARGETS, Pipe, PipeId, Place, Plan, Profile, QUEUES,
    QUEUES_OF_PIPE, Shape, Target,
};
use super::red::Red;
use super::tree::{MOST_SUBPORTS, Tree};
use super::{
    COLUMNS, Error, MOST_OVERHEAD, MOST_PACKETS, MOST_PIPES, MOST_PORTS, Port, Scheduled, Scheduler,
};

/// Parameters of a new port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// The rate.
    pub shape: Shape,
    /// Layer 1 overhead per packet in bytes.
    pub overhead: u32,
    /// Packets that a queue holds at most.
    pub queue_length: u32,
    /// Packets that all queues hold at most.
    pub packets: u32,
    /// Pipes at most.
    pub pipes: u32,
}

impl Default for PortSettings {
    fn default() -> Self {
        // Preamble, check sequence and gap of Ethernet.
        let overhead = 24;
        let shape = Shape::default();
        Self { shape, overhead, queue_length: 64, packets: 4096, pipes: 64 }
    }
}

impl PortSettings {
    fn check(&self) -> Result<(), Error> {
        if self.overhead > MOST_OVERHEAD {
            return Err(Error::Unfit("the overhead is at most 256 bytes"));
        }
        if self.queue_length == 0 {
            return Err(Error::Unfit("a queue holds at least a packet"));
        }
        if !(1..=MOST_PACKETS).contains(&self.packets) {
            return Err(Error::Unfit("queues hold 1 to 1048576 packets"));
        }
        if self.pipes == 0 {
            return Err(Error::Unfit("a port has at least a pipe"));
        }
        Ok(())
    }
}

/// The settings of a port.
pub fn port(router: &Router, interface: InterfaceIndex) -> Option<&Config> {
    Some(&router.own::<Scheduler>().ports.get(&interface)?.config)
}

/// Schedules what an interface sends, or changes how. What may wait is set once.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_port(
    router: &mut Router,
    interface: InterfaceIndex,
    new: PortSettings,
) -> Result<(), Error> {
    let found = router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if found.is_sub() {
        return Err(Error::SubInterface);
    }
    let subs: Vec<InterfaceIndex> = found.subs.iter().copied().collect();
    new.check()?;
    if let Some(old) = port(router, interface) {
        if (old.packets, old.most_pipes) != (new.packets, new.pipes) {
            return Err(Error::Unfit("packets and pipes are set once: delete the port before"));
        }
        return edit(router, interface, |config| {
            config.shape = new.shape;
            (config.overhead, config.queue_length) = (new.overhead, new.queue_length);
            Ok(())
        });
    }
    let now = router.now();
    let scheduler = router.own_mut::<Scheduler>();
    let first_pipe = room(scheduler, new.pipes).ok_or(Error::Full("pipes", MOST_PIPES))?;
    let core = Arc::new(Core::new(Tree::new(new.packets, new.pipes, now)));
    scheduler.generation += 2;
    let pipe = Pipe { slot: 0, profile: 0, serial: scheduler.generation - 1 };
    let config = Config {
        shape: new.shape,
        overhead: new.overhead,
        queue_length: new.queue_length,
        packets: new.packets,
        most_pipes: new.pipes,
        subports: [(0, Level::default())].into(),
        pipes: [((0, 0), pipe)].into(),
        map: vec![[Place::default(); 256]; qos::SOURCES],
        targets: Default::default(),
        vlans: Default::default(),
        table: None,
        red: [[None; COLORS]; CLASSES],
    };
    let column = first_pipe as usize * QUEUES_OF_PIPE;
    let plan = Plan::of(&config, &scheduler.profiles, (core.clone(), column), scheduler.generation);
    let full = |_| Error::Full("ports", MOST_PORTS as u32);
    let slot = scheduler.plans.insert(plan).map_err(full)?;
    scheduler.ports.insert(interface, Port { slot, first_pipe, config, core });
    count_from_zero(router, column);
    for each in subs.into_iter().chain([interface]) {
        router.put(each, Scheduled { port: Some(slot), ..Scheduled::default() })?;
    }
    Ok(())
}

/// Number of the first of so many pipes that no port has.
fn room(scheduler: &Scheduler, pipes: u32) -> Option<u32> {
    let mut taken: Vec<_> =
        scheduler.ports.values().map(|p| (p.first_pipe, p.config.most_pipes)).collect();
    taken.sort_unstable();
    let mut from = 0;
    for (first, count) in taken {
        if first - from >= pipes {
            break;
        }
        from = first + count;
    }
    (from.checked_add(pipes)? <= MOST_PIPES).then_some(from)
}

/// Sends what an interface sends at once again. What waits is dropped.
///
/// # Errors
/// [`Error::NoPort`].
pub fn remove_port(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    let scheduler = router.own_mut::<Scheduler>();
    let Port { slot, core, first_pipe, .. } =
        scheduler.ports.remove(&interface).ok_or(Error::NoPort)?;
    let flushed = scheduler.counters.flushed.clone();
    let of_port = router.settings::<Scheduled>().filter(|(_, s)| s.port == Some(slot));
    for each in of_port.map(|(each, _)| each).collect::<Vec<_>>() {
        router.put(each, Scheduled::default())?;
    }
    let column = first_pipe as usize * QUEUES_OF_PIPE;
    super::visit(router, core, move |frame, tree, thread| {
        Output::flush(frame, tree, &|queue, bytes| {
            if let Some(counter) = flushed.row(thread).get(column + queue) {
                counter.add(1, bytes.into());
            }
        });
    });
    router.own_mut::<Scheduler>().plans.remove(slot);
    Ok(())
}

/// Resets the counters of a pipe's queues.
fn count_from_zero(router: &mut Router, column: usize) {
    let counters = router.own::<Scheduler>().counters.clone();
    let all: [&Rows<VolumeCounter>; 5] =
        [&counters.queued, &counters.sent, &counters.dropped, &counters.early, &counters.flushed];
    for rows in all {
        for queue in 0..QUEUES_OF_PIPE {
            router.count_from_zero(rows, COLUMNS, (column + queue) as u32, "schedulers");
        }
    }
}

/// Changes the settings of a port; nothing where `change` fails.
fn edit(
    router: &mut Router,
    interface: InterfaceIndex,
    change: impl FnOnce(&mut Config) -> Result<(), Error>,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let scheduler = router.own_mut::<Scheduler>();
    let port = scheduler.ports.get_mut(&interface).ok_or(Error::NoPort)?;
    let mut config = port.config.clone();
    change(&mut config)?;
    port.config = config;
    publish(scheduler, interface);
    Ok(())
}

/// Publishes the settings of a port to nodes.
fn publish(scheduler: &mut Scheduler, interface: InterfaceIndex) {
    scheduler.generation += 1;
    if let Some(port) = scheduler.ports.get(&interface) {
        let place = (port.core.clone(), port.column());
        let plan = Plan::of(&port.config, &scheduler.profiles, place, scheduler.generation);
        scheduler.plans.replace(port.slot, plan);
    }
}

/// Makes a subport, changes or (`None`) deletes it.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_subport(
    router: &mut Router,
    interface: InterfaceIndex,
    id: u16,
    level: Option<Level>,
) -> Result<(), Error> {
    edit(router, interface, |config| {
        match level {
            Some(level) => {
                config.subports.insert(id, level);
            }
            None if id == 0 => return Err(Error::Fixed("subport 0")),
            None if config.pipes.keys().any(|(subport, _)| *subport == id) => {
                return Err(Error::InUse("a subport with pipes"));
            }
            None => {
                config.subports.remove(&id).ok_or(Error::NoSubport(id))?;
            }
        }
        if config.subports.len() > MOST_SUBPORTS {
            return Err(Error::Full("subports", MOST_SUBPORTS as u32));
        }
        Ok(())
    })
}

/// Makes a profile of pipes, changes or (`None`) deletes it. Number 0 is there without: deleted, it
/// has no limits and equal weights.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_profile(router: &mut Router, id: u32, profile: Option<Profile>) -> Result<(), Error> {
    let scheduler = router.own_mut::<Scheduler>();
    let is_used = |port: &Port| port.config.pipes.values().any(|pipe| pipe.profile == id);
    let users: Vec<_> =
        scheduler.ports.iter().filter(|(_, port)| is_used(port)).map(|(i, _)| *i).collect();
    match profile {
        Some(profile) => {
            if profile.weights.as_flattened().contains(&0) {
                return Err(Error::Unfit("weights are at least 1"));
            }
            if scheduler.profiles.len() >= MOST_PIPES as usize {
                return Err(Error::Full("profiles", MOST_PIPES));
            }
            scheduler.profiles.insert(id, profile);
        }
        None if id != 0 && !users.is_empty() => return Err(Error::InUse("a profile of pipes")),
        None => {
            scheduler.profiles.remove(&id).ok_or(Error::NoProfile(id))?;
        }
    }
    users.into_iter().for_each(|interface| publish(scheduler, interface));
    Ok(())
}

/// Makes a pipe, gives it another profile or (`None`) deletes it with what waits in it.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_pipe(
    router: &mut Router,
    interface: InterfaceIndex,
    id: PipeId,
    profile: Option<u32>,
) -> Result<(), Error> {
    if profile.is_none() && id == (0, 0) {
        return Err(Error::Fixed("pipe 0 of subport 0"));
    }
    let is_bound = bound(router).any(|(_, port, pipe)| port == interface && pipe == id);
    let scheduler = router.own_mut::<Scheduler>();
    let is_known = |id| id == 0 || scheduler.profiles.contains_key(&id);
    if let Some(unknown) = profile.filter(|id| !is_known(*id)) {
        return Err(Error::NoProfile(unknown));
    }
    scheduler.generation += 1;
    let serial = scheduler.generation;
    let first = scheduler.ports.get(&interface).map(Port::column);
    let mut made = None;
    edit(router, interface, |config| {
        let Some(profile) = profile else {
            let is_named = config.vlans.values().any(|pipe| *pipe == id)
                || config.targets.values().any(|target| target.pipe == id);
            if is_bound || is_named {
                return Err(Error::InUse("a pipe that packets are classified to"));
            }
            config.pipes.remove(&id).ok_or(Error::NoPipe(id.0, id.1))?;
            return Ok(());
        };
        if !config.subports.contains_key(&id.0) {
            return Err(Error::NoSubport(id.0));
        }
        if let Some(pipe) = config.pipes.get_mut(&id) {
            pipe.profile = profile;
            return Ok(());
        }
        let mut slots = 0..config.most_pipes;
        let is_free = |slot: &u32| !config.pipes.values().any(|pipe| pipe.slot == *slot);
        let slot = slots.find(is_free).ok_or(Error::Full("pipes", config.most_pipes))?;
        config.pipes.insert(id, Pipe { slot, profile, serial });
        made = Some(slot);
        Ok(())
    })?;
    if let (Some(slot), Some(first)) = (made, first) {
        count_from_zero(router, first + slot as usize * QUEUES_OF_PIPE);
    }
    Ok(())
}

fn check_place(place: Place) -> Result<(), Error> {
    if usize::from(place.class) >= CLASSES {
        return Err(Error::Unfit("traffic classes are 0 to 3"));
    }
    if usize::from(place.queue) >= QUEUES {
        return Err(Error::Unfit("queues of a class are 0 to 3"));
    }
    Ok(())
}

fn check_pipe(config: &Config, id: PipeId) -> Result<(), Error> {
    if config.pipes.contains_key(&id) { Ok(()) } else { Err(Error::NoPipe(id.0, id.1)) }
}

/// Class and queue of packets with some marks.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_map(
    router: &mut Router,
    interface: InterfaceIndex,
    source: Source,
    marks: RangeInclusive<u8>,
    place: Place,
) -> Result<(), Error> {
    check_place(place)?;
    if marks.is_empty() {
        return Err(Error::Unfit("the last mark is before the first"));
    }
    edit(router, interface, |config| {
        for mark in marks {
            config.map[source as usize][usize::from(mark)] = place;
        }
        Ok(())
    })
}

/// The target of a number of the classifier (the opaque index of its sessions), or (`None`) none.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_target(
    router: &mut Router,
    interface: InterfaceIndex,
    number: u32,
    target: Option<Target>,
) -> Result<(), Error> {
    if number as usize >= MOST_TARGETS {
        return Err(Error::Unfit("numbers of the classifier are 0 to 255"));
    }
    target.and_then(|t| t.place).map_or(Ok(()), check_place)?;
    edit(router, interface, |config| {
        if let Some(target) = target {
            check_pipe(config, target.pipe)?;
            config.targets.insert(number, target);
            return Ok(());
        }
        config.targets.remove(&number).map(drop).ok_or(Error::NotSet)
    })
}

/// The first table of the classifier that packets are looked up in, or none.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_table(
    router: &mut Router,
    interface: InterfaceIndex,
    table: Option<u32>,
) -> Result<(), Error> {
    edit(router, interface, |config| {
        config.table = table;
        Ok(())
    })
}

/// The pipe of packets with a VLAN, or (`None`) pipe 0 of subport 0.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_vlan(
    router: &mut Router,
    interface: InterfaceIndex,
    vlan: u16,
    pipe: Option<PipeId>,
) -> Result<(), Error> {
    if !(1..=4094).contains(&vlan) {
        return Err(Error::Unfit("VLANs are 1 to 4094"));
    }
    edit(router, interface, |config| {
        if let Some(id) = pipe {
            check_pipe(config, id)?;
            config.vlans.insert(vlan, id);
            return Ok(());
        }
        config.vlans.remove(&vlan).map(drop).ok_or(Error::NotSet)
    })
}

/// The pipe of what a sub-interface sends, or (`None`) that of its VLAN.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn bind(
    router: &mut Router,
    interface: InterfaceIndex,
    pipe: Option<PipeId>,
) -> Result<(), Error> {
    let found = router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if !found.is_sub() {
        return Err(Error::NoSubInterface);
    }
    let port = router.own::<Scheduler>().ports.get(&found.sup).ok_or(Error::NoPort)?;
    let slot = |id: PipeId| Some(port.config.pipes.get(&id)?.slot);
    let pipe_slot = pipe.map(|id| slot(id).ok_or(Error::NoPipe(id.0, id.1))).transpose()?;
    let scheduled = Scheduled { port: Some(port.slot), pipe, pipe_slot };
    Ok(router.put(interface, scheduled)?)
}

/// Sub-interfaces with a pipe of their own, their ports and pipes.
pub(super) fn bound(
    router: &Router,
) -> impl Iterator<Item = (InterfaceIndex, InterfaceIndex, PipeId)> {
    router.settings::<Scheduled>().filter_map(|(interface, scheduled)| {
        Some((interface, router.interfaces.at(interface)?.sup, scheduled.pipe?))
    })
}

/// Thresholds of random early detection for packets of a class and colour, or none.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_red(
    router: &mut Router,
    interface: InterfaceIndex,
    (class, color): (u8, Color),
    red: Option<Red>,
) -> Result<(), Error> {
    check_place(Place { class, queue: 0 })?;
    red.map_or(Ok(()), |red| red.check().map_err(Error::Unfit))?;
    edit(router, interface, |config| {
        config.red[usize::from(class)][color as usize] = red;
        Ok(())
    })
}
