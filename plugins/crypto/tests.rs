//! Examples of the RFCs, and what is sealed can be opened.

use crypto::{CIPHERS, Cipher, Job, MACS, MAX_IV, Mac, Mode, TAG};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn cipher(name: &str, key: &str) -> Cipher {
    let algorithm = CIPHERS.into_iter().find(|c| c.name == name).unwrap();
    Cipher::new(algorithm, &hex(key)).ok().unwrap()
}

/// RFC 3602 section 4, cases 1 and 2.
#[test]
fn aes_cbc_is_that_of_the_rfc() {
    let (key, iv) = ("06a9214036b8a15b512e03d534120006", "3dafba429d9eb430b422da802c9fac41");
    let cipher = cipher("aes-128-cbc", key);
    let mut data = *b"Single block msg";
    let iv = hex(iv).try_into().unwrap();
    cipher.encrypt(&iv, &mut data);
    assert_eq!(data[..], hex("e353779c1079aeb82708942dbe77181a"));
    cipher.decrypt(&iv, &mut data);
    assert_eq!(&data, b"Single block msg");
}

/// RFC 3686 section 6, test vector 1.
#[test]
fn aes_ctr_is_that_of_the_rfc() {
    let cipher = cipher("aes-128-ctr", "ae6852f8121067cc4bf7a5765577f39e");
    let block = hex("00000030000000000000000000000001").try_into().unwrap();
    let mut data = *b"Single block msg";
    cipher.encrypt(&block, &mut data);
    assert_eq!(data[..], hex("e4095d4fb7a7b3792d6175a3261311b8"));
}

/// RFC 8439 section 2.8.2.
#[test]
fn chacha20_poly1305_is_that_of_the_rfc() {
    let key = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f";
    let nonce = hex("070000004041424344454647").try_into().unwrap();
    let aad = hex("50515253c0c1c2c3c4c5c6c7");
    let mut data = b"Ladies and Gentlemen of the class of '99: If I could offer you only one \
        tip for the future, sunscreen would be it."
        .to_vec();
    let tag = cipher("chacha20-poly1305", key).seal(&nonce, &aad, &mut data).unwrap();
    assert_eq!(tag[..], hex("1ae10b594f09e26a7e902ecbd0600691"));
}

/// RFC 2202 section 3, case 2, and RFC 4231 section 4.3.
#[test]
fn keyed_hashes_are_those_of_the_rfcs() {
    let of = |name: &str| {
        let mac = MACS.into_iter().find(|m| m.name == name).unwrap();
        let mac = Mac::new(mac, b"Jefe");
        let hash = mac.hash(&[b"what do ya ", b"want for nothing?"]);
        assert!(mac.verify(&[b"what do ya want for nothing?"], &hash[..mac.algorithm.icv]));
        assert!(!mac.verify(&[b"what do ya want for nothing!"], &hash[..mac.algorithm.icv]));
        hash
    };
    assert_eq!(of("sha1-96")[..20], hex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"));
    assert_eq!(of("md5-96")[..16], hex("750c783e6ab0b503eaa86e310a5db738"));
    assert_eq!(of("sha-256-128")[..8], hex("5bdcc146bf60754e"));
    assert_eq!(of("sha-512-256")[..8], hex("164b7a7bfcf819e2"));
}

#[test]
fn what_is_sealed_is_opened_and_nothing_else() {
    for algorithm in CIPHERS {
        let key = vec![7; algorithm.key];
        let cipher = Cipher::new(algorithm, &key).ok().unwrap();
        assert!(algorithm.mode == Mode::Null || Cipher::new(algorithm, &[7; 5]).is_err());
        let mut data = [5; 48];
        match algorithm.mode {
            Mode::Null => continue,
            Mode::Cbc | Mode::Ctr => {
                cipher.encrypt(&[9; 16], &mut data);
                assert_ne!(data, [5; 48], "{}", algorithm.name);
                cipher.decrypt(&[9; 16], &mut data);
            }
            Mode::Aead | Mode::Gmac => {
                let tag = cipher.seal(&[9; 12], b"more", &mut data).unwrap();
                let mut all = [&data[..], &tag].concat();
                assert!(!cipher.open(&[9; 12], b"less", &mut all.clone()));
                assert!(cipher.open(&[9; 12], b"more", &mut all), "{}", algorithm.name);
                data.copy_from_slice(&all[..48]);
            }
        }
        assert_eq!(data, [5; 48], "{}", algorithm.name);
    }
}

/// Cases 1 to 4, 9, 13, 15 and 16 of "The Galois/Counter Mode of Operation" (McGrew, Viega).
#[test]
fn aes_gcm_is_that_of_its_authors() {
    let (none, zeros) = ("", "00000000000000000000000000000000");
    let key = "feffe9928665731c6d6a8f9467308308";
    let (key24, key32) = (key.to_owned() + "feffe9928665731c", key.to_owned() + key);
    let nonce = "cafebabefacedbaddecaf888";
    let text = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
        1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";
    let short = &text[..120];
    let aad = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    let text16 = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
        21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985";
    let text24 = "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c\
        7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710acade256";
    let text32 = "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
        8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad";
    let nonce0 = &zeros[..24];
    let cases = [
        (zeros, nonce0, none, none, none, "58e2fccefa7e3061367f1d57a4e7455a"),
        (
            zeros,
            nonce0,
            none,
            zeros,
            "0388dace60b6a392f328c2b971b2fe78",
            "ab6e47d42cec13bdf53a67b21257bddf",
        ),
        (key, nonce, none, text, text16, "4d5c2af327cd64a62cf35abd2ba6fab4"),
        (key, nonce, aad, short, &text16[..120], "5bc94fbc3221a5db94fae95ae7121a47"),
        (&key24, nonce, none, text, text24, "9924a7c8587336bfb118024db8674a14"),
        (&(zeros.to_owned() + zeros), nonce0, none, none, none, "530f8afbc74536b9a963b4f1c4cb738b"),
        (&key32, nonce, none, text, text32, "b094dac5d93471bdec1a502270e3cc6c"),
        (&key32, nonce, aad, short, &text32[..120], "76fc6ece0f4e1768cddf8853bb2d551b"),
    ];
    for (key, nonce, aad, text, sealed, tag) in cases {
        let cipher = cipher(&format!("aes-{}-gcm", key.len() * 4), key);
        let (nonce, aad, mut data) = (hex(nonce).try_into().unwrap(), hex(aad), hex(text));
        assert_eq!(cipher.seal(&nonce, &aad, &mut data).unwrap()[..], hex(tag), "{tag}");
        assert_eq!(data, hex(sealed), "{tag}");
    }
}

/// A generator of numbers (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
    fn below(&mut self, most: u64) -> usize {
        (self.next() % most) as usize
    }
}

#[test]
fn aes_gcm_agrees_with_another_implementation_at_all_lengths() {
    use aes_gcm::aead::AeadInPlace;
    use aes_gcm::aead::consts::U12;
    use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm, KeyInit};
    fn other<K: AeadInPlace + KeyInit>(
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
    ) -> Vec<u8> {
        let key = K::new_from_slice(key).ok().unwrap();
        key.encrypt_in_place_detached(aes_gcm::aead::Nonce::<K>::from_slice(nonce), aad, data)
            .unwrap()
            .to_vec()
    }
    let mut numbers = Numbers(88_172_645_463_325_252);
    // Lengths around blocks, groups of blocks, and segments.
    let lens = (0..=320).chain([511, 512, 513, 1023, 1024, 1399, 1400, 1401, 2048, 9000]);
    for len in lens {
        let key_len = [16, 24, 32][len % 3];
        let (key, nonce) = (numbers.bytes(key_len), numbers.bytes(12));
        let most = if len % 5 == 0 { 700 } else { 33 };
        let aad_len = numbers.below(most);
        let (aad, plain) = (numbers.bytes(aad_len), numbers.bytes(len));
        let mut expected = plain.clone();
        let seal = match key_len {
            16 => other::<Aes128Gcm>,
            24 => other::<AesGcm<aes::Aes192, U12>>,
            _ => other::<Aes256Gcm>,
        };
        let tag = seal(&key, &nonce, &aad, &mut expected);
        let algorithm = CIPHERS.into_iter().find(|c| c.name == format!("aes-{}-gcm", key_len * 8));
        let cipher = Cipher::new(algorithm.unwrap(), &key).ok().unwrap();
        let (nonce, mut data) = (nonce.try_into().unwrap(), plain.clone());
        let sealed = cipher.seal(&nonce, &aad, &mut data).unwrap();
        assert_eq!((&data, &sealed[..]), (&expected, &tag[..]), "{len} {aad_len}");
        let mut packet = [data, tag].concat();
        let mut forged = packet.clone();
        let bit = numbers.below(8 * forged.len() as u64);
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(!cipher.open(&nonce, &aad, &mut forged), "{len} {bit}");
        assert!(cipher.open(&nonce, &aad, &mut packet));
        assert_eq!(packet[..len], plain);
    }
}

/// Bytes that look random.
fn noise(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (((i + 1) * (seed + 7) * 2_654_435_761) >> 13) as u8).collect()
}

/// Lengths of packets, so many, in no order.
fn lengths(count: usize) -> Vec<usize> {
    (0..count).map(|i| [0, 1, 52, 64, 102, 255, 256, 257, 515, 1400][i * 7 % 10] + i % 3).collect()
}

#[test]
fn packets_sealed_together_are_as_those_sealed_one_by_one() {
    for algorithm in CIPHERS.into_iter().filter(|c| c.mode == Mode::Aead) {
        let cipher = Cipher::new(algorithm, &noise(algorithm.key, 1)).ok().unwrap();
        for count in [1, 3, 4, 5, 16, 63, 64] {
            let lens = lengths(count);
            let nonce = |at: usize| <[u8; 12]>::try_from(noise(12, at)).unwrap();
            let aad_len = |at: usize| if at % 5 == 2 { 12 } else { 8 };
            let mut one: Vec<_> = (0..count).map(|at| noise(lens[at], at)).collect();
            let clear = one.clone();
            let tags: Vec<_> = (0..count)
                .map(|at| cipher.seal(&nonce(at), &nonce(at + 1)[..aad_len(at)], &mut one[at]))
                .collect();
            let mut all = clear.clone();
            let mut jobs: Vec<_> = all
                .iter_mut()
                .enumerate()
                .map(|(at, data)| Job {
                    nonce: nonce(at),
                    aad: nonce(at + 1),
                    aad_len: aad_len(at) as u8,
                    data,
                    tag: [0; TAG],
                })
                .collect();
            assert!(cipher.seal_each(&mut jobs));
            for (at, job) in jobs.iter_mut().enumerate() {
                assert_eq!(Some(job.tag), tags[at], "{} {count} {at}", algorithm.name);
                assert_eq!(*job.data, one[at][..], "{} {count} {at}", algorithm.name);
                job.tag[at % 16] ^= u8::from(at % 4 == 1) << (at % 8);
            }
            let Some(right) = cipher.open_each(&mut jobs) else { continue };
            drop(jobs);
            assert_eq!(all, clear);
            assert!((0..count).all(|at| right >> at & 1 == u64::from(at % 4 != 1)), "{right:x}");
        }
    }
}

#[test]
fn pieces_enciphered_together_are_as_those_enciphered_one_by_one() {
    for algorithm in CIPHERS.into_iter().filter(|c| c.mode == Mode::Cbc) {
        let cipher = Cipher::new(algorithm, &noise(algorithm.key, 1)).ok().unwrap();
        for count in [0, 1, 3, 16, 17, 64] {
            let whole = |len: usize| len.next_multiple_of(algorithm.block);
            let mut one: Vec<_> =
                lengths(count).into_iter().enumerate().map(|(i, n)| noise(whole(n), i)).collect();
            let mut all = one.clone();
            one.iter_mut().for_each(|piece| cipher.encrypt(&[0; MAX_IV], piece));
            cipher.encrypt_each(all.iter_mut().map(|piece| &mut piece[..]));
            assert_eq!(all, one, "{} {count}", algorithm.name);
        }
    }
}

#[test]
fn messages_hashed_together_have_the_hashes_that_they_have_alone() {
    for algorithm in MACS.into_iter().filter(|m| m.icv > 0) {
        for key in [0, 20, 64, 65] {
            let mac = Mac::new(algorithm, &noise(key, 9));
            for count in [0, 1, 3, 4, 15, 16, 17, 64] {
                let lens = lengths(count).into_iter().enumerate();
                let messages: Vec<_> = lens.map(|(i, len)| noise(len + i, i)).collect();
                let all: Vec<&[u8]> = messages.iter().map(|m| &m[..]).collect();
                let mut seen = 0_u64;
                mac.hash_each(&all, |at, hash| {
                    let alone = mac.hash(&[all[at]]);
                    assert_eq!(hash[..32.min(hash.len())], alone[..32.min(hash.len())]);
                    seen |= 1 << at;
                });
                assert_eq!(seen.count_ones() as usize, count, "{}", algorithm.name);
            }
        }
    }
}
