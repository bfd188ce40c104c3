//! Messages of the module `scheduler`.

use control::api::{Api, Message, Record, Retval};
use infra::meter::Color;
use net::{InterfaceIndex, Router};
use qos::{QosSource, Source};

use super::plan::{CLASSES, Level, Place, Profile, QUEUES, Rate, Shape, Target};
use super::red::Red;
use super::{PortSettings, change, show};

control::numbers! {
    /// Packet colors set by policers.
    pub enum SchedulerColor: u8 = "scheduler_color" in "" {
        GREEN = 0 => "SCHEDULER_COLOR_GREEN",
        YELLOW = 1 => "SCHEDULER_COLOR_YELLOW",
        RED = 2 => "SCHEDULER_COLOR_RED",
    }
}

/// A rate and the rates of traffic classes.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct SchedulerLevel {
    /// bits per second; 0 for no limit
    pub rate: u64,
    /// burst in bytes; 0 for 5 ms at the rate
    pub burst: u32,
    /// bits per second of each traffic class; 0 for no limit
    pub class_rates: [u64; 4],
}

/// Add, change or delete the scheduler of an interface.
#[derive(Message)]
pub struct SchedulerPortAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// bits per second; 0 for no limit
    pub rate: u64,
    /// burst in bytes; 0 for 5 ms at the rate
    pub burst: u32,
    /// layer 1 overhead per packet in bytes
    #[preset(24)]
    pub overhead: u32,
    /// queue length in packets
    #[preset(64)]
    pub queue_length: u32,
    /// packets in all queues
    #[preset(4096)]
    pub packets: u32,
    /// number of pipes
    #[preset(64)]
    pub pipes: u32,
}

/// Add, change or delete a subport.
#[derive(Message)]
pub struct SchedulerSubportAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// port
    pub sw_if_index: InterfaceIndex,
    /// subport
    pub subport: u16,
    /// rates
    pub level: SchedulerLevel,
}

/// Add, change or delete a pipe profile.
#[derive(Message)]
pub struct SchedulerProfileAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// profile
    pub profile: u32,
    /// rates of its pipes
    pub level: SchedulerLevel,
    /// queue weights, four per traffic class
    pub weights: [u8; 16],
}

/// Add, change or delete a pipe.
#[derive(Message)]
pub struct SchedulerPipeAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// port
    pub sw_if_index: InterfaceIndex,
    /// subport
    pub subport: u16,
    /// pipe
    pub pipe: u16,
    /// profile
    pub profile: u32,
}

/// Set the class and queue of packets with a mark.
#[derive(Message)]
pub struct SchedulerMapSet {
    /// port
    pub sw_if_index: InterfaceIndex,
    /// QoS source of the mark
    pub source: QosSource,
    /// first mark
    pub first_mark: u8,
    /// last of the range
    pub last_mark: u8,
    /// traffic class
    pub traffic_class: u8,
    /// queue within the class
    pub queue: u8,
}

/// Set the target of a classifier value.
#[derive(Message)]
pub struct SchedulerClassAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// port
    pub sw_if_index: InterfaceIndex,
    /// opaque index of classifier sessions
    pub number: u32,
    /// subport
    pub subport: u16,
    /// pipe
    pub pipe: u16,
    /// true to use the traffic class and queue, false to use the packet's mark
    pub has_traffic_class: bool,
    /// traffic class
    pub traffic_class: u8,
    /// queue within the class
    pub queue: u8,
}

/// Set or remove the classifier table of a scheduler.
#[derive(Message)]
pub struct SchedulerClassifySet {
    /// port
    pub sw_if_index: InterfaceIndex,
    /// first table; 4294967295 for none
    pub table_index: u32,
}

/// Set or delete the pipe of a VLAN.
#[derive(Message)]
pub struct SchedulerVlanAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// port
    pub sw_if_index: InterfaceIndex,
    /// outer VLAN ID
    pub vlan: u16,
    /// subport
    pub subport: u16,
    /// pipe
    pub pipe: u16,
}

/// Set or delete the pipe of a sub-interface.
#[derive(Message)]
pub struct SchedulerSubInterfaceAddDel {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// sub-interface
    pub sw_if_index: InterfaceIndex,
    /// subport
    pub subport: u16,
    /// pipe
    pub pipe: u16,
}

/// Enable or disable random early detection.
#[derive(Message)]
pub struct SchedulerRedSet {
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// port
    pub sw_if_index: InterfaceIndex,
    /// traffic class
    pub traffic_class: u8,
    /// packet color
    pub color: SchedulerColor,
    /// minimum threshold: average queue length in packets
    pub min: u32,
    /// maximum threshold: average queue length in packets
    pub max: u32,
    /// inverse of the drop probability just below the maximum
    #[preset(10)]
    pub inverse: u32,
    /// averaging weight: 1 / 2^weight per packet
    #[preset(9)]
    pub weight: u8,
}

/// List the active queues of a port.
#[derive(Message)]
#[details(SchedulerQueueDetails)]
pub struct SchedulerQueueDump {
    /// port
    pub sw_if_index: InterfaceIndex,
}

/// A queue.
#[derive(Debug, Message)]
pub struct SchedulerQueueDetails {
    /// port
    pub sw_if_index: InterfaceIndex,
    /// subport
    pub subport: u16,
    /// pipe
    pub pipe: u16,
    /// traffic class
    pub traffic_class: u8,
    /// queue within the class
    pub queue: u8,
    /// packets that wait
    pub waiting: u64,
    /// packets sent
    pub sent: u64,
    /// bytes sent
    pub sent_bytes: u64,
    /// packets dropped because the queue was full
    pub dropped: u64,
    /// packets dropped by random early detection
    pub early_dropped: u64,
    /// packets dropped because a pipe, interface or thread was deleted
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
