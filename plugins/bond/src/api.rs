//! Messages of the module `bond`.

use net::InterfaceReply;
use net::prelude::*;

use super::{Balance, Bond, Bonds, Config, Member, Mode};

control::numbers! {
    /// Bonding mode.
    pub enum BondMode: u32 = "bond_mode" in "" {
        ROUND_ROBIN = 1 => "BOND_API_MODE_ROUND_ROBIN",
        ACTIVE_BACKUP = 2 => "BOND_API_MODE_ACTIVE_BACKUP",
        XOR = 3 => "BOND_API_MODE_XOR",
        BROADCAST = 4 => "BOND_API_MODE_BROADCAST",
        LACP = 5 => "BOND_API_MODE_LACP",
    }
    /// Hash fields of a bond; for modes without a hash, the mode.
    pub enum BondLbAlgo: u32 = "bond_lb_algo" in "" {
        L2 = 0 => "BOND_API_LB_ALGO_L2",
        L34 = 1 => "BOND_API_LB_ALGO_L34",
        L23 = 2 => "BOND_API_LB_ALGO_L23",
        RR = 3 => "BOND_API_LB_ALGO_RR",
        BC = 4 => "BOND_API_LB_ALGO_BC",
        AB = 5 => "BOND_API_LB_ALGO_AB",
    }
}

/// Create a bond interface.
#[derive(Message)]
#[option("deprecated")]
#[reply(BondCreateReply)]
pub struct BondCreate {
    /// instance number in the name; 4294967295 for the lowest free one
    #[preset(4294967295)]
    pub id: u32,
    /// true if the MAC address is valid
    pub use_custom_mac: bool,
    /// MAC address
    pub mac_address: MacAddr,
    /// bonding mode
    pub mode: BondMode,
    /// hash fields
    pub lb: BondLbAlgo,
    /// prefer members on the thread's own NUMA node
    pub numa_only: bool,
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct BondCreateReply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Create a bond interface.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct BondCreate2 {
    /// bonding mode
    pub mode: BondMode,
    /// hash fields
    pub lb: BondLbAlgo,
    /// prefer members on the thread's own NUMA node
    pub numa_only: bool,
    /// enable GSO; it always is
    pub enable_gso: bool,
    /// true if the MAC address is valid
    pub use_custom_mac: bool,
    /// MAC address
    pub mac_address: MacAddr,
    /// instance number in the name; 4294967295 for the lowest free one
    #[preset(4294967295)]
    pub id: u32,
}

/// Delete a bond interface.
#[derive(Message)]
pub struct BondDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Add a member to a bond.
#[derive(Message)]
#[option("deprecated")]
#[reply(BondEnslaveReply)]
pub struct BondEnslave {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// bond interface
    pub bond_sw_if_index: InterfaceIndex,
    /// passive LACP: answer, but do not initiate
    pub is_passive: bool,
    /// long LACP timeout: the peer sends every 30 seconds instead of every second
    pub is_long_timeout: bool,
}

/// Reply: success.
#[derive(Message)]
pub struct BondEnslaveReply {}

/// Add a member to a bond.
#[derive(Message)]
#[reply(BondAddMemberReply)]
pub struct BondAddMember {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// bond interface
    pub bond_sw_if_index: InterfaceIndex,
    /// passive LACP: answer, but do not initiate
    pub is_passive: bool,
    /// long LACP timeout: the peer sends every 30 seconds instead of every second
    pub is_long_timeout: bool,
}

/// Reply: success.
#[derive(Message)]
pub struct BondAddMemberReply {}

/// Remove a member from a bond.
#[derive(Message)]
#[option("deprecated")]
#[reply(BondDetachSlaveReply)]
pub struct BondDetachSlave {
    /// member interface
    pub sw_if_index: InterfaceIndex,
}

/// Reply: success.
#[derive(Message)]
#[option("deprecated")]
pub struct BondDetachSlaveReply {}

/// Remove a member from a bond.
#[derive(Message)]
pub struct BondDetachMember {
    /// member interface
    pub sw_if_index: InterfaceIndex,
}

/// List the bonds.
#[derive(Message)]
#[option("deprecated")]
#[details(SwInterfaceBondDetails)]
pub struct SwInterfaceBondDump {}

/// A bond.
#[derive(Debug, Message)]
pub struct SwInterfaceBondDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// instance number in the interface name
    pub id: u32,
    /// bonding mode
    pub mode: BondMode,
    /// hash fields
    pub lb: BondLbAlgo,
    /// members on the thread's own NUMA node are preferred
    pub numa_only: bool,
    /// active members
    pub active_slaves: u32,
    /// members
    pub slaves: u32,
    /// name
    pub interface_name: Text<64>,
}

/// List the bonds.
#[derive(Message)]
#[details(SwBondInterfaceDetails)]
pub struct SwBondInterfaceDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A bond.
#[derive(Debug, Message)]
pub struct SwBondInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// instance number in the interface name
    pub id: u32,
    /// bonding mode
    pub mode: BondMode,
    /// hash fields
    pub lb: BondLbAlgo,
    /// members on the thread's own NUMA node are preferred
    pub numa_only: bool,
    /// active members
    pub active_members: u32,
    /// members
    pub members: u32,
    /// name
    pub interface_name: Text<64>,
}

/// List the members of a bond.
#[derive(Message)]
#[option("deprecated")]
#[details(SwInterfaceSlaveDetails)]
pub struct SwInterfaceSlaveDump {
    /// bond interface
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bond.
#[derive(Debug, Message)]
pub struct SwInterfaceSlaveDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// name
    pub interface_name: Text<64>,
    /// passive LACP
    pub is_passive: bool,
    /// long LACP timeout
    pub is_long_timeout: bool,
    /// on the thread's own NUMA node
    pub is_local_numa: bool,
    /// weight in active-backup mode; the highest is active
    pub weight: u32,
}

/// List the members of a bond.
#[derive(Message)]
#[details(SwMemberInterfaceDetails)]
pub struct SwMemberInterfaceDump {
    /// bond interface
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bond.
#[derive(Debug, Message)]
pub struct SwMemberInterfaceDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// name
    pub interface_name: Text<64>,
    /// passive LACP
    pub is_passive: bool,
    /// long LACP timeout
    pub is_long_timeout: bool,
    /// on the thread's own NUMA node
    pub is_local_numa: bool,
    /// weight in active-backup mode; the highest is active
    pub weight: u32,
}

/// Set the weight of a bond member.
#[derive(Message)]
pub struct SwInterfaceSetBondWeight {
    /// member interface
    pub sw_if_index: InterfaceIndex,
    /// weight; the highest is active
    pub weight: u32,
}

impl BondMode {
    fn mode(self) -> Result<Mode, Retval> {
        let found = Mode::WORDS.iter().find(|(mode, _)| *mode as u32 == self.0);
        found.map(|(mode, _)| *mode).ok_or(Retval::INVALID_ARGUMENT)
    }
}

/// Modes that do not balance take any number.
fn balance(mode: Mode, lb: BondLbAlgo) -> Result<Balance, Retval> {
    if !mode.balances() {
        return Ok(Balance::default());
    }
    let found = Balance::WORDS.iter().find(|(balance, _)| *balance as u32 == lb.0);
    found.map(|(balance, _)| *balance).ok_or(Retval::INVALID_ARGUMENT)
}

fn algorithm(config: &Config) -> BondLbAlgo {
    match config.mode {
        Mode::RoundRobin => BondLbAlgo::RR,
        Mode::Broadcast => BondLbAlgo::BC,
        Mode::ActiveBackup => BondLbAlgo::AB,
        Mode::Xor | Mode::Lacp => BondLbAlgo(config.balance as u32),
    }
}

fn create(router: &mut Router, m: BondCreate2) -> Result<InterfaceIndex, Retval> {
    let mode = m.mode.mode()?;
    let config = Config {
        id: Some(m.id).filter(|id| *id != u32::MAX),
        mode,
        balance: balance(mode, m.lb)?,
        numa_only: m.numa_only,
        gso: m.enable_gso,
        mac: m.use_custom_mac.then_some(m.mac_address),
    };
    Ok(super::create(router, config)?)
}

fn bond_row(router: &Router, index: InterfaceIndex, bond: &Bond) -> SwBondInterfaceDetails {
    SwBondInterfaceDetails {
        sw_if_index: index,
        id: bond.id,
        mode: BondMode(bond.config.mode as u32),
        lb: algorithm(&bond.config),
        numa_only: bond.config.numa_only,
        active_members: bond.active.len() as u32,
        members: bond.members.len() as u32,
        interface_name: router.interfaces.name(index.0).to_owned().into(),
    }
}

fn bonds(router: &Router, only: InterfaceIndex) -> Vec<SwBondInterfaceDetails> {
    let all = router.own::<Bonds>().bonds.iter();
    let chosen = all.filter(|(index, _)| only.0 == u32::MAX || **index == only);
    chosen.map(|(index, bond)| bond_row(router, *index, bond)).collect()
}

fn member_row(router: &Router, index: InterfaceIndex, member: &Member) -> SwMemberInterfaceDetails {
    SwMemberInterfaceDetails {
        sw_if_index: index,
        interface_name: router.interfaces.name(index.0).to_owned().into(),
        is_passive: member.is_passive,
        is_long_timeout: member.is_long_timeout,
        // Interfaces say no NUMA node: all of them are near.
        is_local_numa: false,
        weight: member.weight,
    }
}

fn members(router: &Router, of: InterfaceIndex) -> Vec<SwMemberInterfaceDetails> {
    let all = router.own::<Bonds>();
    let members = all.bonds.get(&of).into_iter().flat_map(|bond| &bond.members);
    members.map(|index| member_row(router, *index, &all.members[index])).collect()
}

impl From<SwBondInterfaceDetails> for SwInterfaceBondDetails {
    fn from(row: SwBondInterfaceDetails) -> Self {
        Self {
            sw_if_index: row.sw_if_index,
            id: row.id,
            mode: row.mode,
            lb: row.lb,
            numa_only: row.numa_only,
            active_slaves: row.active_members,
            slaves: row.members,
            interface_name: row.interface_name,
        }
    }
}

impl From<SwMemberInterfaceDetails> for SwInterfaceSlaveDetails {
    fn from(row: SwMemberInterfaceDetails) -> Self {
        Self {
            sw_if_index: row.sw_if_index,
            interface_name: row.interface_name,
            is_passive: row.is_passive,
            is_long_timeout: row.is_long_timeout,
            is_local_numa: row.is_local_numa,
            weight: row.weight,
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("bond", "2.1.0")
        .call(|router: &mut Router, m: BondCreate| {
            let BondCreate { id, use_custom_mac, mac_address, mode, lb, numa_only } = m;
            let enable_gso = false;
            let m =
                BondCreate2 { mode, lb, numa_only, enable_gso, use_custom_mac, mac_address, id };
            Ok(BondCreateReply { sw_if_index: create(router, m)? })
        })
        .call(|router, m: BondCreate2| Ok(InterfaceReply { sw_if_index: create(router, m)? }))
        .call(|router, m: BondDelete| Ok(super::delete(router, m.sw_if_index)?))
        .call(|router, m: BondEnslave| {
            let how = (m.is_passive, m.is_long_timeout);
            super::add_member(router, m.sw_if_index, m.bond_sw_if_index, how)?;
            Ok(BondEnslaveReply {})
        })
        .call(|router, m: BondAddMember| {
            let how = (m.is_passive, m.is_long_timeout);
            super::add_member(router, m.sw_if_index, m.bond_sw_if_index, how)?;
            Ok(BondAddMemberReply {})
        })
        .call(|router, m: BondDetachSlave| {
            super::detach(router, m.sw_if_index)?;
            Ok(BondDetachSlaveReply {})
        })
        .call(|router, m: BondDetachMember| Ok(super::detach(router, m.sw_if_index)?))
        .call(|router, m: SwInterfaceSetBondWeight| {
            Ok(super::set_weight(router, m.sw_if_index, m.weight)?)
        })
        .dump(|router, _: SwInterfaceBondDump| {
            bonds(router, InterfaceIndex(u32::MAX)).into_iter().map(Into::into).collect()
        })
        .dump(|router, m: SwBondInterfaceDump| bonds(router, m.sw_if_index))
        .dump(|router, m: SwInterfaceSlaveDump| {
            members(router, m.sw_if_index).into_iter().map(Into::into).collect()
        })
        .dump(|router, m: SwMemberInterfaceDump| members(router, m.sw_if_index));
}
