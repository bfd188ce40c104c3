//! Messages of the module `qos`.

use control::api::{Api, Message, Record, Retval};
use net::{InterfaceIndex, Router};

use super::{Map, SOURCES, Source};

control::numbers! {
    /// QoS sources: fields that carry a mark.
    pub enum QosSource: u8 = "qos_source" in "" {
        EXT = 0 => "QOS_API_SOURCE_EXT",
        VLAN = 1 => "QOS_API_SOURCE_VLAN",
        MPLS = 2 => "QOS_API_SOURCE_MPLS",
        IP = 3 => "QOS_API_SOURCE_IP",
    }
}

/// A mark assigned to an interface's received packets.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct QosStore {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// QoS source of the mark
    pub input_source: QosSource,
    /// mark
    pub value: u8,
}

/// Assign a fixed QoS mark to an interface's received packets, or stop.
#[derive(Message)]
pub struct QosStoreEnableDisable {
    #[preset(true)]
    /// true to enable, false to disable
    pub enable: bool,
    /// interface and mark
    pub store: QosStore,
}

/// List interfaces with a fixed mark.
#[derive(Message)]
#[details(QosStoreDetails)]
pub struct QosStoreDump {}

/// An interface with a fixed mark.
#[derive(Message)]
pub struct QosStoreDetails {
    /// interface and mark
    pub store: QosStore,
}

/// Marks recorded on an interface.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct QosRecord {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// QoS source
    pub input_source: QosSource,
}

/// Enable or disable recording of QoS marks of received packets.
#[derive(Message)]
pub struct QosRecordEnableDisable {
    #[preset(true)]
    /// true to enable, false to disable
    pub enable: bool,
    /// interface and source
    pub record: QosRecord,
}

/// List interfaces with recording.
#[derive(Message)]
#[details(QosRecordDetails)]
pub struct QosRecordDump {}

/// An interface with recording.
#[derive(Message)]
pub struct QosRecordDetails {
    /// interface and source
    pub record: QosRecord,
}

/// Output marks for one QoS source.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct QosEgressMapRow {
    /// output marks, by recorded mark
    pub outputs: [u8; 256],
}

/// An egress map.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct QosEgressMap {
    /// identifier
    pub id: u32,
    /// by source
    pub rows: [QosEgressMapRow; SOURCES],
}

impl QosEgressMap {
    fn of((id, map): (u32, &Map)) -> Self {
        Self { id, rows: map.0.map(|outputs| QosEgressMapRow { outputs }) }
    }
}

/// Add or change an egress map.
#[derive(Message)]
pub struct QosEgressMapUpdate {
    /// egress map
    pub map: QosEgressMap,
}

/// Delete an egress map.
#[derive(Message)]
pub struct QosEgressMapDelete {
    /// identifier
    pub id: u32,
}

/// List egress maps.
#[derive(Message)]
#[details(QosEgressMapDetails)]
pub struct QosEgressMapDump {}

/// An egress map.
#[derive(Message)]
pub struct QosEgressMapDetails {
    /// egress map
    pub map: QosEgressMap,
}

/// Egress map of an interface.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct QosMark {
    /// interface index
    pub sw_if_index: u32,
    /// egress map ID
    pub map_id: u32,
    /// QoS source
    pub output_source: QosSource,
}

/// Enable or disable marking of transmitted packets.
#[derive(Message)]
pub struct QosMarkEnableDisable {
    #[preset(true)]
    /// true to enable, false to disable
    pub enable: bool,
    /// interface, map and source
    pub mark: QosMark,
}

/// List interfaces with marking.
#[derive(Message)]
#[details(QosMarkDetails)]
pub struct QosMarkDump {
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// An interface with marking.
#[derive(Message)]
pub struct QosMarkDetails {
    /// interface, map and source
    pub mark: QosMark,
}

fn source(number: QosSource) -> Result<Source, Retval> {
    Source::try_from(number)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("qos", "1.1.1")
        .call(|router: &mut Router, m: QosStoreEnableDisable| {
            let QosStore { sw_if_index, input_source, value } = m.store;
            let mark = m.enable.then_some(value);
            Ok(super::store(router, sw_if_index, source(input_source)?, mark)?)
        })
        .dump(|router: &mut Router, _: QosStoreDump| {
            let row = |(sw_if_index, source, value): (_, Source, _)| QosStoreDetails {
                store: QosStore { sw_if_index, input_source: source.into(), value },
            };
            super::stores(router).map(row).collect()
        })
        .call(|router: &mut Router, m: QosRecordEnableDisable| {
            let QosRecord { sw_if_index, input_source } = m.record;
            Ok(super::record(router, sw_if_index, source(input_source)?, m.enable)?)
        })
        .dump(|router: &mut Router, _: QosRecordDump| {
            let row = |(sw_if_index, source): (_, Source)| QosRecordDetails {
                record: QosRecord { sw_if_index, input_source: source.into() },
            };
            super::records(router).map(row).collect()
        })
        .call(|router: &mut Router, m: QosEgressMapUpdate| {
            let map = Map(m.map.rows.map(|row| row.outputs));
            Ok(super::set_map(router, m.map.id, map)?)
        })
        .call(|router: &mut Router, m: QosEgressMapDelete| Ok(super::remove_map(router, m.id)?))
        .dump(|router: &mut Router, _: QosEgressMapDump| {
            let maps = super::maps(router).map(QosEgressMap::of);
            maps.map(|map| QosEgressMapDetails { map }).collect()
        })
        .call(|router: &mut Router, m: QosMarkEnableDisable| {
            let QosMark { sw_if_index, map_id, output_source } = m.mark;
            let map = m.enable.then_some(map_id);
            let output = source(output_source)?;
            Ok(super::mark(router, InterfaceIndex(sw_if_index), output, map)?)
        })
        .dump(|router: &mut Router, m: QosMarkDump| {
            // Clients that name none leave 0, which marks nothing.
            let is_all = [0, u32::MAX].contains(&m.sw_if_index.0);
            let is_meant = |i: InterfaceIndex| is_all || i == m.sw_if_index;
            let meant = super::marks(router).filter(|(i, ..)| is_meant(*i));
            let row = |(interface, output, map_id): (InterfaceIndex, Source, _)| QosMarkDetails {
                mark: QosMark { sw_if_index: interface.0, map_id, output_source: output.into() },
            };
            meant.map(row).collect()
        });
}
