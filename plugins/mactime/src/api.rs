//! Messages of the module `mactime`.

use control::api::Record;
use net::prelude::*;

use super::device::{self, Device, Devices, Terms};
use super::week::Range;

/// Bits of a device: static drop and allow, the same in ranges, with a quota, without UDP to port
/// 10001.
const FLAGS: [u32; 6] = [1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5];

/// A range of the week, in seconds since Saturday midnight.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("")]
pub struct TimeRange {
    /// start
    pub start: f64,
    /// end
    pub end: f64,
}

/// A range of the week, in seconds since Saturday midnight.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("")]
pub struct MactimeTimeRange {
    /// start
    pub start: f64,
    /// end
    pub end: f64,
}

/// Enable or disable device filtering on an interface.
#[derive(Message)]
#[option("vat_help", "<intfc> [disable]")]
pub struct MactimeEnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add or delete a device.
#[derive(Message)]
#[option("vat_help", "name <devname> mac <mac-addr> allow drop allow-range Mon - Fri 9:00 - 17:00")]
pub struct MactimeAddDelRange {
    /// true to add, false to delete
    pub is_add: bool,
    /// drop, always or in its ranges
    pub drop: bool,
    /// allow, always or in its ranges
    pub allow: bool,
    /// allow in its ranges, up to a quota
    pub allow_quota: u8,
    /// drop UDP to port 10001
    pub no_udp_10001: bool,
    /// quota in bytes
    pub data_quota: u64,
    /// the device
    pub mac_address: MacAddr,
    /// name
    pub device_name: Text<64>,
    /// time ranges; none for always
    #[counted(count: u32)]
    pub ranges: Vec<TimeRange>,
}

/// Last known table epoch: an unchanged table is not listed again.
#[derive(Message)]
#[stream(MactimeDetails, MactimeDumpReply)]
pub struct MactimeDump {
    /// quota in bytes
    pub my_table_epoch: u32,
}

/// A device.
#[derive(Message)]
pub struct MactimeDetails {
    /// index
    pub pool_index: u32,
    /// MAC address
    pub mac_address: MacAddr,
    /// bytes used in the current range
    pub data_quota: u64,
    /// bits: static drop, static allow, dynamic drop, dynamic allow, quota, drop UDP port 10001
    pub data_used_in_range: u64,
    /// time ranges
    pub flags: u32,
    /// name
    pub device_name: Text<64>,
    /// end of the list
    #[counted(nranges: u32)]
    pub ranges: Vec<MactimeTimeRange>,
}

/// End of the list.
#[derive(Message)]
pub struct MactimeDumpReply {
    /// table epoch
    pub table_epoch: u32,
}

fn terms(m: &MactimeAddDelRange) -> Result<Terms, super::Error> {
    let is_quota = m.allow_quota != 0;
    if u8::from(m.drop) + u8::from(m.allow) + u8::from(is_quota) != 1 {
        return Err(super::Error::NoAction);
    }
    Ok(Terms {
        name: m.device_name.to_string(),
        drops: m.drop,
        ranges: m.ranges.iter().map(|r| Range { start: r.start, end: r.end }).collect(),
        quota: is_quota.then_some(m.data_quota),
        no_udp_10001: m.no_udp_10001,
    })
}

fn details(devices: &Devices, (mac, device): (&MacAddr, &Device)) -> MactimeDetails {
    let Terms { name, drops, ranges, quota, no_udp_10001 } = &device.terms;
    let kind = match (ranges.is_empty(), drops, quota) {
        (is_static, true, _) => FLAGS[if is_static { 0 } else { 2 }],
        (true, false, _) => FLAGS[1],
        (false, false, None) => FLAGS[3],
        (false, false, Some(_)) => FLAGS[4],
    };
    let range = |r: &Range| MactimeTimeRange { start: r.start, end: r.end };
    MactimeDetails {
        pool_index: device.column,
        mac_address: *mac,
        data_quota: quota.unwrap_or(0),
        data_used_in_range: devices.used(device),
        flags: kind | if *no_udp_10001 { FLAGS[5] } else { 0 },
        device_name: name.clone().into(),
        ranges: ranges.iter().map(range).collect(),
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("mactime", "2.0.0")
        .call(|router: &mut Router, m: MactimeEnableDisable| {
            Ok(super::watch(router, m.sw_if_index, m.enable_disable)?)
        })
        .call(|router, m: MactimeAddDelRange| {
            Ok(match m.is_add {
                true => device::put(router, m.mac_address, terms(&m)?),
                false => device::remove(router, m.mac_address),
            }?)
        })
        .dump_with_end(|router, m: MactimeDump| {
            let devices = router.own::<Devices>();
            let all = devices.all.iter().filter(|_| m.my_table_epoch != devices.epoch);
            let rows = all.map(|device| details(devices, device)).collect();
            (rows, Retval::OK, MactimeDumpReply { table_epoch: devices.epoch })
        });
}
