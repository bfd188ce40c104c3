//! The packet to explain: described by its fields, given as bytes, or taken from a capture.

use std::path::PathBuf;

use control::cli::{Args, Error};
use drivers::pcap;
use drivers::pg::data::template::LINE;
use drivers::pg::data::{Layout, Sizes, Template, hexadecimal};

/// A packet as it would be received.
pub struct Packet {
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// Its first header.
    pub start: Start,
}

/// First headers of packets, where the packet says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Layer 2.
    Ethernet,
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// First header of packets of the interface.
    Bytes,
}

impl Packet {
    /// Reads all that is left.
    ///
    /// # Errors
    /// A message with the unparsed words.
    pub fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let place = *args;
        if args.keyword("hex") {
            let digits: String = args.rest().split_whitespace().collect();
            let bytes =
                hexadecimal(&digits).ok_or_else(|| place.error("invalid hexadecimal bytes"))?;
            return Ok(Self { bytes, start: Start::Bytes });
        }
        if args.keyword("pcap") {
            let file: PathBuf = args.value("file name")?;
            if !args.keyword("packet") {
                return Err(Error::new("missing `packet <n>' after the file"));
            }
            let number = args.value("number of a packet")?;
            return Self::of_capture(&file, number);
        }
        let layout = if args.keyword("data") {
            let block = args.block()?;
            let mut inside = block.ok_or_else(|| args.error("expected `{' before"))?;
            Layout::parse(&mut inside)?
        } else {
            if args.is_empty() {
                return Err(Error::new("missing packet"));
            }
            Layout::parse(args)?
        };
        Self::of_layout(&layout)
    }
    fn of_layout(layout: &Layout) -> Result<Self, Error> {
        let size = layout.size();
        let template = Template::new(layout, Sizes::fixed(size), 0);
        let mut template = template.map_err(|least| {
            Error::new(format!("the packet has {size} bytes, its headers need {least}"))
        })?;
        let mut bytes = vec![0; size.next_multiple_of(LINE)];
        template.write(&mut bytes, size);
        bytes.truncate(size);
        let start = match layout.starts_with_ip() {
            Some(4) => Start::Ip4,
            Some(_) => Start::Ip6,
            None => Start::Ethernet,
        };
        Ok(Self { bytes, start })
    }
    /// Packet `number` of a file, counted from 1.
    fn of_capture(file: &std::path::Path, number: usize) -> Result<Self, Error> {
        let (mut count, mut found) = (0, None);
        let refused =
            |why: &dyn std::fmt::Display| Error::new(format!("{}: {why}", file.display()));
        pcap::read(file, |bytes| {
            count += 1;
            if count == number {
                found = Some(bytes.to_vec());
            }
        })
        .map_err(|e| refused(&e))?;
        let bytes = found.ok_or_else(|| {
            refused(&format_args!("the file has {count} packets, counted from 1; not `{number}'"))
        })?;
        Ok(Self { bytes, start: Start::Bytes })
    }
}
