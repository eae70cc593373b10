import Testing

@testable import Auth

@Suite struct PasswordHashTests {
    static let password = "pässwörd 1"
    /// Hashes of the password, made once with Python's hashlib, crypt and the package cryptography.
    static let known: [(name: String, hash: String)] = [
        ("bcrypt", "$2b$06$w/L7Rf1jR3yW5gbXpizNWuC5vibqAqHGoDm0iaV7XHb5rz6l.mEmS"),
        ("bcrypt-2y", "$2y$06$w/L7Rf1jR3yW5gbXpizNWuC5vibqAqHGoDm0iaV7XHb5rz6l.mEmS"),
        ("scrypt", "$scrypt$ln=12,r=8,p=1$1Bbs0k2y6TmUA0/mjb4QYA$3haFlmhCfvNCsiXNSl+FUnBgXxL2ufrpnOQ9eUMeRvY"),
        ("pbkdf2-phc", "$pbkdf2-sha256$i=5000,l=32$ns/eTMRYLq8iLww7/QeJHg$llO4k2bJx6Xfz1a2T4GgfK5+3BNrrT7SFSV/LwCfkMU"),
        (
            "pbkdf2-passlib",
            "$pbkdf2-sha512$3000$gEFeVrAXpwKNxZ4YIgjUtw$2rRhNEWW1BQG/KDD.DJiW2RzuZIye3t7aSj.y0Bk3fI0vgd1ztEN7S69Dea83e0TP7JuTMfNtzPZ0jpXjuqqfg"
        ),
        ("pbkdf2-sha1", "$pbkdf2$2000$Z4yTCRIbbBvQ.3PpBim1UQ$QciLbjnQ3gZ4hbjFAI2mScGwNPI"),
        (
            "argon2id-p4",
            "$argon2id$v=19$m=1024,t=2,p=4$zxTBQ4WWbwk3Zkc/24vt9w$vhx060tqMte79ZAnRO5J0/XI4PQIcA9x0a4p3/fo2Fc"
        ),
        (
            "argon2id-p1",
            "$argon2id$v=19$m=512,t=3,p=1$DoKaDMWyHGeEecb+YqmBUQ$DhtSShZGWcbdTejd2VzyCTGI5+T8OGNzABfVYrfVxcE"
        ),
        ("argon2i", "$argon2i$v=19$m=512,t=3,p=1$t+GiyXBvw00kqSJ4Zabx9Q$VchivcL8XC/6KkyuySxDFXyucVPVrwPp6Bo1phm/aVc"),
    ]

    @Test(arguments: known)
    func `another system's hash is its password's and no other's`(name: String, hash: String) throws {
        let parsed = try #require(PasswordHash(hash), "\(name)")
        #expect(parsed.matches(Self.password))
        #expect(!parsed.matches(Self.password + "x") && !parsed.matches(""))
        #expect(parsed.isOutdated(operations: 1, memoryBytes: 64 << 10))
        let last = hash.dropLast(2) + (hash.hasSuffix("aa") ? "bb" : "aa")
        #expect(PasswordHash(String(last))?.matches(Self.password) != true)
    }

    @Test func `a hash of ours is outdated only by its costs`() throws {
        let hash = try #require(Sodium.hashPassword("x", operations: 1, memoryBytes: 64 << 10))
        let parsed = try #require(PasswordHash(hash))
        #expect(parsed.matches("x"))
        #expect(!parsed.isOutdated(operations: 1, memoryBytes: 64 << 10))
        #expect(parsed.isOutdated(operations: 2, memoryBytes: 64 << 10))
    }

    @Test(arguments: [
        "", "$", "$$$$", "plain", "$2b$31$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", "$2b$06$short",
        "$argon2d$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$argon2id$v=19$m=9999999,t=1,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$argon2id$v=19$m=64,t=999,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$scrypt$ln=30,r=8,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$scrypt$ln=14,r=8$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$scrypt$ln=14,r=8,p=1$c2FsdHNhbHQ$short", "$pbkdf2-sha256$i=99999999$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$pbkdf2-md5$i=1000$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$pbkdf2-sha256$i=1000,l=99$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "$6$salt$digest", "$2b$06$\n",
    ])
    func `an unknown format, and costs out of bounds, are refused`(text: String) { #expect(PasswordHash(text) == nil) }
}
