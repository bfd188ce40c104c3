//! Files of recorded requests: u32 number of requests, u32 size of the table, u8 whether older ones
//! were lost; the table of messages; then for each request its length (u32) and its bytes. All
//! numbers are big endian but those in the table, which are short when they are small.

use std::collections::HashMap;

use super::super::field::{Field, Reader, Short};

/// Appends a table of messages: number and name with CRC.
pub(super) fn write_table(messages: &[(u16, String)], out: &mut Vec<u8>) {
    (messages.len() as u32).encode(out);
    for (id, name) in messages {
        write_small((*id).into(), out);
        write_small(name.len() as u64, out);
        out.extend(name.as_bytes());
    }
}

/// The bytes of a file.
pub(super) fn write<'a>(
    messages: &[(u16, String)],
    has_wrapped: bool,
    requests: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let mut table = Vec::new();
    write_table(messages, &mut table);
    let mut out = Vec::new();
    (requests.len() as u32).encode(&mut out);
    (table.len() as u32).encode(&mut out);
    has_wrapped.encode(&mut out);
    out.extend(table);
    for request in requests {
        (request.len() as u32).encode(&mut out);
        out.extend(request);
    }
    out
}

/// The messages of a file's table: number and name with CRC, as they stand there.
pub(super) fn table(bytes: &[u8]) -> Result<Vec<(u16, String)>, Short> {
    head(&mut Reader::new(bytes)).map(|(_, table)| table)
}

/// Takes how many requests there are, and the table.
fn head(from: &mut Reader<'_>) -> Result<(u32, Vec<(u16, String)>), Short> {
    let count = u32::decode(from)?;
    let size = u32::decode(from)?;
    bool::decode(from)?;
    let mut table = Reader::new(from.take(size as usize)?);
    let mut names = Vec::new();
    for _ in 0..u32::decode(&mut table)? {
        let id = u16::try_from(read_small(&mut table)?).map_err(|_| Short)?;
        let len = usize::try_from(read_small(&mut table)?).map_err(|_| Short)?;
        names.push((id, String::from_utf8_lossy(table.take(len)?).into_owned()));
    }
    Ok((count, names))
}

/// The requests in a file, each with the name and CRC of its message and the rest of its bytes.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Short> {
    let mut from = Reader::new(bytes);
    let (count, names) = head(&mut from)?;
    let names: HashMap<_, _> = names.into_iter().collect();
    let mut requests = Vec::new();
    for _ in 0..count {
        let len = u32::decode(&mut from)?;
        let mut request = Reader::new(from.take(len as usize)?);
        let id = u16::decode(&mut request)?;
        let name = names.get(&id).cloned().unwrap_or_default();
        requests.push((name, request.take(request.len())?.to_vec()));
    }
    Ok(requests)
}

const TWO_BYTES: u64 = 1 << 7;
const FOUR_BYTES: u64 = TWO_BYTES + (1 << 14);
const NINE_BYTES: u64 = FOUR_BYTES + (1 << 29);

/// Appends a number in one, two, four or nine bytes; the lowest bits of the first say how many.
fn write_small(number: u64, out: &mut Vec<u8>) {
    if number < TWO_BYTES {
        out.push(2 * number as u8 + 1);
    } else if number < FOUR_BYTES {
        out.extend((4 * (number - TWO_BYTES) as u16 + 2).to_le_bytes());
    } else if number < NINE_BYTES {
        out.extend((8 * (number - FOUR_BYTES) as u32 + 4).to_le_bytes());
    } else {
        out.push(0);
        out.extend(number.to_le_bytes());
    }
}

fn read_small(from: &mut Reader<'_>) -> Result<u64, Short> {
    let [first] = from.array()?;
    Ok(match first {
        n if n & 1 == 1 => u64::from(n / 2),
        n if n & 2 == 2 => {
            let [second] = from.array()?;
            u64::from(u16::from_le_bytes([n, second]) / 4) + TWO_BYTES
        }
        n if n & 4 == 4 => {
            let [b, c, d] = from.array()?;
            u64::from(u32::from_le_bytes([n, b, c, d]) / 8) + FOUR_BYTES
        }
        _ => u64::from_le_bytes(from.array()?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        let len = |number| {
            let mut out = Vec::new();
            write_small(number, &mut out);
            out.len()
        };
        assert_eq!([0, 127, 128, 16_511, 16_512].map(len), [1, 1, 2, 2, 4]);
        assert_eq!([NINE_BYTES - 1, NINE_BYTES].map(len), [4, 9]);
    }

    proptest! {
        #[test]
        fn files_are_read_as_they_were_written(
            numbers in vec(any::<u64>(), 0..9),
            requests in vec(vec(any::<u8>(), 2..9), 0..9),
        ) {
            for number in numbers.into_iter().flat_map(|n| [n, n >> 34, n >> 48, n >> 56]) {
                let mut out = Vec::new();
                write_small(number, &mut out);
                prop_assert_eq!(read_small(&mut Reader::new(&out)), Ok(number));
            }
            let messages: Vec<_> = (0..300).map(|id| (id, format!("m_{id}"))).collect();
            let bytes = write(&messages, true, requests.iter().map(Vec::as_slice));
            let back = read(&bytes).unwrap();
            prop_assert_eq!(back.len(), requests.len());
            for ((name, rest), request) in back.iter().zip(&requests) {
                let id = u16::from_be_bytes([request[0], request[1]]);
                let known = if id < 300 { format!("m_{id}") } else { String::new() };
                prop_assert_eq!((name, &rest[..]), (&known, &request[2..]));
            }
        }

        #[test]
        fn any_bytes_are_answered(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
