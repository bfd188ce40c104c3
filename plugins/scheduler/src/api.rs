//! Messages of the module `scheduler`.

use control::api::{Api, Message, Record, Retval};
use infra::meter::Color;
use net::{InterfaceIndex, Router};
use qos::{QosSource, Source};

use super::plan::{CLASSES, Level, Place, Profile, QUEUES, Rate, Shape, Target};
use super::red::Red;
use super::{PortSettings, change, show};

control::numbers! {
    /// Colours that policers give packets.
    pub enum SchedulerColor: u8 = "scheduler_color" in "" {
        GREEN = 0 => "SCHEDULER_COLOR_GREEN",
        YELLOW = 1 => "SCHEDULER_COLOR_YELLOW",
        RED = 2 => "SCHEDULER_COLOR_RED",
    }
}

/// A rate, and those of each traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct SchedulerLevel {
    /// bits a second; 0 for no limit
    pub rate: u64,
    /// bytes that may go at once; 0 for what the rate is in 5 ms
    pub burst: u32,
    /// bits a second of each traffic class; 0 for no limit
    pub class_rates: [u64; 4],
}

/// Schedule what an interface sends, change how, or no longer.
#[derive(Message)]
pub struct SchedulerPortAddDel {
    /// or no longer
    #[preset(true)]
    pub is_add: bool,
    /// the interface
    pub sw_if_index: InterfaceIndex,
    /// bits a second; 0 for no limit
    pub rate: u64,
    /// bytes that may go at once; 0 for what the rate is in 5 ms
    pub burst: u32,
    /// bytes that the wire adds to each packet
    #[preset(24)]
    pub overhead: u32,
    /// packets that a queue holds
    #[preset(64)]
    pub queue_length: u32,
    /// packets that all queues hold
    #[preset(4096)]
    pub packets: u32,
    /// pipes that there can be
    #[preset(64)]
    pub pipes: u32,
}

/// Make, change or delete a subport.
#[derive(Message)]
pub struct SchedulerSubportAddDel {
    /// or delete it
    #[preset(true)]
    pub is_add: bool,
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// the subport
    pub subport: u16,
    /// its rates
    pub level: SchedulerLevel,
}

/// Make, change or delete a profile of pipes.
#[derive(Message)]
pub struct SchedulerProfileAddDel {
    /// or delete it
    #[preset(true)]
    pub is_add: bool,
    /// the profile
    pub profile: u32,
    /// rates of its pipes
    pub level: SchedulerLevel,
    /// weights of the queues, four for each traffic class
    pub weights: [u8; 16],
}

/// Make or delete a pipe, or give it another profile.
#[derive(Message)]
pub struct SchedulerPipeAddDel {
    /// or delete it
    #[preset(true)]
    pub is_add: bool,
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// the subport
    pub subport: u16,
    /// the pipe
    pub pipe: u16,
    /// its profile
    pub profile: u32,
}

/// Set the class and queue of packets with a mark.
#[derive(Message)]
pub struct SchedulerMapSet {
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// the place that the mark was read from
    pub source: QosSource,
    /// the first mark
    pub first_mark: u8,
    /// the last one
    pub last_mark: u8,
    /// traffic class
    pub traffic_class: u8,
    /// queue of the class
    pub queue: u8,
}

/// Set what the classifier names by a number.
#[derive(Message)]
pub struct SchedulerClassAddDel {
    /// or no longer
    #[preset(true)]
    pub is_add: bool,
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// the opaque index of sessions of the classifier
    pub number: u32,
    /// the subport
    pub subport: u16,
    /// the pipe
    pub pipe: u16,
    /// whether traffic class and queue count; else the packet's mark does
    pub has_traffic_class: bool,
    /// traffic class
    pub traffic_class: u8,
    /// queue of the class
    pub queue: u8,
}

/// Look packets up in tables of the classifier, or no longer.
#[derive(Message)]
pub struct SchedulerClassifySet {
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// the first table; 4294967295 for none
    pub table_index: u32,
}

/// Set the pipe of packets with a VLAN.
#[derive(Message)]
pub struct SchedulerVlanAddDel {
    /// or no longer
    #[preset(true)]
    pub is_add: bool,
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// the outer VLAN
    pub vlan: u16,
    /// the subport
    pub subport: u16,
    /// the pipe
    pub pipe: u16,
}

/// Set the pipe of what a sub-interface sends.
#[derive(Message)]
pub struct SchedulerSubInterfaceAddDel {
    /// or no longer
    #[preset(true)]
    pub is_add: bool,
    /// the sub-interface
    pub sw_if_index: InterfaceIndex,
    /// the subport
    pub subport: u16,
    /// the pipe
    pub pipe: u16,
}

/// Drop packets early while a queue is long, or no longer.
#[derive(Message)]
pub struct SchedulerRedSet {
    /// or no longer
    #[preset(true)]
    pub is_add: bool,
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// traffic class
    pub traffic_class: u8,
    /// colour of the packets
    pub color: SchedulerColor,
    /// average length from which on some are dropped, in packets
    pub min: u32,
    /// average length from which on all are dropped, in packets
    pub max: u32,
    /// one of so many is dropped just below max
    #[preset(10)]
    pub inverse: u32,
    /// the average moves by 1 / 2^weight with each packet
    #[preset(9)]
    pub weight: u8,
}

/// List the queues of a port that counted something.
#[derive(Message)]
#[details(SchedulerQueueDetails)]
pub struct SchedulerQueueDump {
    /// the port
    pub sw_if_index: InterfaceIndex,
}

/// A queue.
#[derive(Debug, Message)]
pub struct SchedulerQueueDetails {
    /// the port
    pub sw_if_index: InterfaceIndex,
    /// the subport
    pub subport: u16,
    /// the pipe
    pub pipe: u16,
    /// traffic class
    pub traffic_class: u8,
    /// queue of the class
    pub queue: u8,
    /// packets that wait
    pub waiting: u64,
    /// packets that were sent
    pub sent: u64,
    /// bytes of these
    pub sent_bytes: u64,
    /// packets that found no room
    pub dropped: u64,
    /// packets that random early detection dropped
    pub early_dropped: u64,
    /// packets dropped because a pipe, interface or thread went
    pub flushed: u64,
}

impl SchedulerLevel {
    fn native(&self) -> Level {
        let shape = Shape { rate: Rate(self.rate), burst: self.burst };
        Level { shape, classes: self.class_rates.map(Rate) }
    }
}

fn color(color: SchedulerColor) -> Result<Color, Retval> {
    match color {
        SchedulerColor::GREEN => Ok(Color::Green),
        SchedulerColor::YELLOW => Ok(Color::Yellow),
        SchedulerColor::RED => Ok(Color::Red),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn source(source: QosSource) -> Result<Source, Retval> {
    Source::try_from(source).map_err(|_| Retval::INVALID_VALUE)
}

fn weights(flat: &[u8; CLASSES * QUEUES]) -> [[u8; QUEUES]; CLASSES] {
    let mut weights = [[0; QUEUES]; CLASSES];
    weights.as_flattened_mut().copy_from_slice(flat);
    weights
}

fn queues(router: &Router, sw_if_index: InterfaceIndex) -> Vec<SchedulerQueueDetails> {
    let mut rows = Vec::new();
    for pipe in show::pipes(router, sw_if_index) {
        let counting = pipe.queues.iter().filter(|q| q.counted != show::Counted::default());
        rows.extend(counting.map(|q| SchedulerQueueDetails {
            sw_if_index,
            subport: pipe.subport,
            pipe: pipe.pipe,
            traffic_class: q.class,
            queue: q.queue,
            waiting: q.counted.waiting,
            sent: q.counted.sent,
            sent_bytes: q.counted.sent_bytes,
            dropped: q.counted.dropped,
            early_dropped: q.counted.early_dropped,
            flushed: q.counted.flushed,
        }));
    }
    rows
}

fn set_port(router: &mut Router, m: &SchedulerPortAddDel) -> Result<(), super::Error> {
    if !m.is_add {
        return change::remove_port(router, m.sw_if_index);
    }
    let settings = PortSettings {
        shape: Shape { rate: Rate(m.rate), burst: m.burst },
        overhead: m.overhead,
        queue_length: m.queue_length,
        packets: m.packets,
        pipes: m.pipes,
    };
    change::set_port(router, m.sw_if_index, settings)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("scheduler", "1.0.0")
        .call(|router: &mut Router, m: SchedulerPortAddDel| Ok(set_port(router, &m)?))
        .call(|router, m: SchedulerSubportAddDel| {
            let level = m.is_add.then(|| m.level.native());
            Ok(change::set_subport(router, m.sw_if_index, m.subport, level)?)
        })
        .call(|router, m: SchedulerProfileAddDel| {
            let (level, weights) = (m.level.native(), weights(&m.weights));
            let profile = m.is_add.then_some(Profile { level, weights });
            Ok(change::set_profile(router, m.profile, profile)?)
        })
        .call(|router, m: SchedulerPipeAddDel| {
            let profile = m.is_add.then_some(m.profile);
            Ok(change::set_pipe(router, m.sw_if_index, (m.subport, m.pipe), profile)?)
        })
        .call(|router, m: SchedulerMapSet| {
            let place = Place { class: m.traffic_class, queue: m.queue };
            let marks = m.first_mark..=m.last_mark;
            Ok(change::set_map(router, m.sw_if_index, source(m.source)?, marks, place)?)
        })
        .call(|router, m: SchedulerClassAddDel| {
            let place = Place { class: m.traffic_class, queue: m.queue };
            let place = m.has_traffic_class.then_some(place);
            let target = Target { pipe: (m.subport, m.pipe), place };
            let target = m.is_add.then_some(target);
            Ok(change::set_target(router, m.sw_if_index, m.number, target)?)
        })
        .call(|router, m: SchedulerClassifySet| {
            let table = (m.table_index != u32::MAX).then_some(m.table_index);
            Ok(change::set_table(router, m.sw_if_index, table)?)
        })
        .call(|router, m: SchedulerVlanAddDel| {
            let pipe = m.is_add.then_some((m.subport, m.pipe));
            Ok(change::set_vlan(router, m.sw_if_index, m.vlan, pipe)?)
        })
        .call(|router, m: SchedulerSubInterfaceAddDel| {
            let pipe = m.is_add.then_some((m.subport, m.pipe));
            Ok(change::bind(router, m.sw_if_index, pipe)?)
        })
        .call(|router, m: SchedulerRedSet| {
            let (min, max, inverse, weight) = (m.min, m.max, m.inverse, m.weight);
            let red = m.is_add.then_some(Red { min, max, inverse, weight });
            let of = (m.traffic_class, color(m.color)?);
            Ok(change::set_red(router, m.sw_if_index, of, red)?)
        })
        .dump(|router, m: SchedulerQueueDump| queues(router, m.sw_if_index));
}
