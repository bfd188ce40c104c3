//! Answers about devices that exist and devices that do not.

use net::testing::Rig;

use super::bus::{self, Address, Device, Refused};
use super::{FEATURE, dev, virtio};

#[test]
fn addresses_are_as_the_kernel_writes_them() {
    let address = Address { domain: 0x10, bus: 0xab, slot: 0x1f, function: 7 };
    assert_eq!("0010:ab:1f.7".parse(), Ok(address));
    assert_eq!(address.to_string(), "0010:ab:1f.7");
    assert_eq!("ab:1f.7".parse(), Ok(Address { domain: 0, ..address }));
    for wrong in ["", "1", "0:1", "0:0:0", "0:0:20.0", "0:0:0.8", "0:0:0:0.0", "0:100:0.0", "x:0.0"]
    {
        assert_eq!(wrong.parse::<Address>(), Err(Refused::NoAddress(wrong.to_owned())));
    }
}

#[test]
fn the_answer_says_who_drives_a_device() {
    let address = Address { domain: 0, bus: 0, slot: 5, function: 0 };
    let device = |driver: Option<&str>, networks: &[&str]| {
        let driver = driver.map(str::to_owned);
        let networks = networks.iter().map(|n| (*n).to_owned()).collect();
        let id = (0x1af4, 0x1000);
        Refused::NoDriver(Box::new(Device { address, id, class: 0x2_0000, driver, networks }))
    };
    let start = "no driver for device 0000:00:05.0 (1af4:1000)";
    for (refused, rest) in [
        (device(None, &[]), ""),
        (device(Some("vfio-pci"), &[]), "; the kernel drives it with vfio-pci"),
        (
            device(Some("virtio-pci"), &["eth0"]),
            "; the kernel has it as eth0: `create host-interface name eth0'",
        ),
    ] {
        assert_eq!(refused.to_string(), format!("{start}{rest}"));
    }
}

#[test]
fn devices_that_are_not_there_are_not_made_interfaces_of() {
    let mut rig = Rig::new(&[FEATURE]);
    for (line, why) in [
        ("create interface virtio x", "not a PCI address: `x'"),
        ("create interface virtio ffff:ff:1f.7 gso-enabled packed", "no PCI device ffff:ff:1f.7"),
        ("delete interface virtio local0", "not an interface of a virtio device"),
        ("delete interface virtio", "expected the name or the sw_if_index"),
        ("device attach usb/1", "unknown bus of device `usb/1'"),
        ("device attach pci/ffff:ff:1f.7 driver x", "no PCI device ffff:ff:1f.7"),
        ("device detach pci/0000:00:00.0", "device `pci/0000:00:00.0' is not attached"),
        ("show device pci/0000:00:00.0", "is not attached"),
        ("create interface vmxnet3 ffff:ff:1f.7 num-rx-queues 2", "no PCI device ffff:ff:1f.7"),
        ("delete interface vmxnet3 local0", "local0 is not an interface of a vmxnet3 device"),
        ("delete interface vmxnet3 sw_if_index 99", "no interface with index 99"),
        ("show vmxnet3 local0", "local0 is not"),
        ("show virtio pci local0", "local0 is not an interface of a virtio device"),
        ("set virtio pci local0 gso-enabled", "local0 is not"),
        ("set virtio pci gso-enabled", "expected the name or the number"),
        ("device create-interface pci/0000:00:00.0 port 1", "is not attached"),
        ("device create-interface usb/1", "unknown bus of device `usb/1'"),
        ("device create-secondary-interface local0 id 1", "local0 is not"),
        ("device remove-interface local0", "not an interface of a port"),
        ("device remove-secondary-interface sw-if-index 0", "local0 is not"),
        ("device reset pci/0000:00:00.0", "is not attached"),
        ("device set-rss-config local0 lut 0,1", "local0 is not"),
        ("device set-rss-config dev pci/0000:00:00.0", "is not attached"),
        ("set interface rss queues local0 list 0-1", "local0 is not"),
        ("set interface hw-class local0 hdlc", "local0 cannot carry `hdlc': only Ethernet"),
        ("show dma config 3", "no DMA configuration 3"),
    ] {
        let said = rig.attempt(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    assert!(rig.run("show pci all").starts_with("Address"));
    for line in [
        "show vmxnet3",
        "show vmxnet3 rx-comp 1",
        "show virtio pci",
        "show dma",
        "show dma backends",
        "show interface transceiver local0 eeprom",
    ] {
        assert_eq!(rig.run(line), "", "{line}");
    }
    rig.run("set interface hw-class local0 Ethernet");
    for device in bus::all() {
        let said = rig.attempt(&format!("create interface virtio {}", device.address));
        assert!(said.unwrap_err().contains("no driver for device"));
    }
    rig.talk(|local, router| {
        let at = virtio::PciAddress { domain: 0xffff, bus: 0xff, slot: 31, function: 7 };
        let make = virtio::VirtioPciCreateV2 {
            pci_addr: at,
            use_random_mac: true,
            mac_address: wire::MacAddr::ZERO,
            virtio_flags: virtio::VirtioFlags::GSO,
            features: u64::MAX,
        };
        let refused = local.call(router, &make).err();
        assert_eq!(refused, Some(control::api::Retval::NO_SUCH_ENTRY));
        assert!(local.dump(router, &virtio::SwInterfaceVirtioPciDump {}).is_empty());
        let attach = dev::DevAttach {
            device_id: "pci/ffff:ff:1f.7".into(),
            driver_name: "".into(),
            flags: dev::DevFlags::default(),
            args: String::new(),
        };
        if let Ok(reply) = local.call(router, &attach) {
            assert_eq!(reply.error_string, "no PCI device ffff:ff:1f.7");
        }
    });
}
