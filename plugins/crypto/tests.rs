//! Examples of the RFCs, and what is sealed can be opened.

use crypto::{CIPHERS, Cipher, MACS, Mac, Mode};

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
