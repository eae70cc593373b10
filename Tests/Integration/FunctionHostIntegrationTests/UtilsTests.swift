import DocumentModel
import FunctionProtocol
import Testing

/// `utils.crypto` and `utils.jwt`, against values of other implementations.
struct UtilsTests {
    private func run(_ body: String, _ arguments: [Value] = []) throws -> Value {
        try TestHost(["f": "exports = async (a, b, c) => { \(body) }"]).call("f", arguments).get()
    }

    @Test func `hashes and signatures with a secret are those of other implementations`() throws {
        #expect(
            try run("return utils.crypto.hash('sha256', 'hello!').toBase64();")
                == "zgYJL7lI2f+sfRo3bkBLJrdXW8wR7gWkYV/vT+w6MIs=")
        #expect(
            try run("return utils.crypto.hash('md5', BSON.Binary.fromHex('68656c6c6f21')).toHex();")
                == "5a8dd3ad0756a93ded72b823b19dd877")
        #expect(
            try run("return utils.crypto.hmac('hello!', 'super-secret', 'sha256', 'base64');")
                == "SUXd6PRMaTXXgBGaGsIHzaDWgTSa6C3D44lRGrvRak0=")
        #expect(throws: FunctionFailure.self) { try run("return utils.crypto.hash('crc32', 'a');") }
    }

    @Test func `encrypted data is opened with the same key only`() throws {
        let key: Value = "603082712271C525E087BD999A4E0738"
        // Sealed by App Services, as its documentation shows.
        let theirs: Value = "WPBuIvJ6Bity43Uh822dW8QlVYVJaFUiDeUjlTiJXzptUuTYIKPlXekBQAJb"
        let open = "return utils.crypto.decrypt('aes', BSON.Binary.fromBase64(a), b).text();"
        #expect(try run(open, [theirs, key]) == "MongoDB is great!")
        let sealed = try run("return utils.crypto.encrypt('aes', a, b).toBase64();", ["grüß dich", key])
        #expect(try run(open, [sealed, key]) == "grüß dich")
        #expect(try run("return utils.crypto.encrypt('aes', a, b).toBase64();", ["grüß dich", key]) != sealed)
        #expect(throws: FunctionFailure.self) { try run(open, [sealed, "603082712271C525E087BD999A4E0739"]) }
        #expect(throws: FunctionFailure.self) { try run(open, ["AAAA", key]) }
        #expect(throws: FunctionFailure.self) { try run(open, [sealed, "short"]) }
    }

    @Test(arguments: ["pss", "pkcs1v15"])
    func `a message signed with a key is verified with its other half`(_ scheme: String) throws {
        let signature = try run(
            "return utils.crypto.sign('rsa', 'hello', a, b).toBase64();", [.string(Keys.rsa), .string(scheme)])
        let verify = "return utils.crypto.verify('rsa', c, a, BSON.Binary.fromBase64(b[0]), b[1]);"
        let parts: Value = [signature, .string(scheme)]
        for key in [Keys.rsaPublic, Keys.oldRSAPublic] {
            #expect(try run(verify, [.string(key), parts, "hello"]) == true)
            #expect(try run(verify, [.string(key), parts, "hallo"]) == false)
        }
    }

    @Test func `a signature that another program made is verified`() throws {
        let verify = "return utils.crypto.verify('rsa', 'hello', a, BSON.Binary.fromBase64(b));"
        #expect(try run(verify, [.string(Keys.oldRSAPublic), .string(Keys.signature)]) == true)
    }

    @Test func `a token is that of other implementations, and a change in one is noticed`() throws {
        let token = try run(
            "return utils.jwt.encode('HS256', { sub: '1234567890', name: 'John Doe', iat: 1516239022 }, 'your-256-bit-secret');"
        )
        #expect(
            token == """
                eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.\
                SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c
                """)
        let decode = "return utils.jwt.decode(a, b, true, ['HS256']);"
        let decoded = try run(decode, [token, "your-256-bit-secret"])
        #expect(decoded["payload"]?["name"] == "John Doe")
        #expect(decoded["header"]?["alg"] == "HS256")
        #expect(throws: FunctionFailure.self) { try run(decode, [token, "another secret"]) }
        #expect(throws: FunctionFailure.self) {
            try run("return utils.jwt.decode(a, b, false, ['RS256']);", [token, "x"])
        }
        #expect(throws: FunctionFailure.self) { try run(decode, ["a.b", "x"]) }
        let old = "return utils.jwt.decode(utils.jwt.encode('HS256', { exp: 1 }, 's'), 's');"
        #expect(throws: FunctionFailure.self) { try run(old) }
    }

    @Test(arguments: ["RS256", "RS512", "PS256", "ES256"])
    func `Node's crypto signs tokens and verifies them, as packages for them do`(_ method: String) throws {
        let isCurve = method.hasPrefix("ES")
        let keys: [Value] = [
            .string(isCurve ? Keys.curve : Keys.rsa), .string(isCurve ? Keys.curvePublic : Keys.rsaPublic),
            .string(method),
        ]
        let result = try run(
            """
            const crypto = require("crypto"), url = value => Buffer.from(value).toString("base64url");
            const key = crypto.createPrivateKey(a), hash = "RSA-SHA" + c.slice(2);
            const options = { padding: c.startsWith("PS") ? crypto.constants.RSA_PKCS1_PSS_PADDING : undefined,
              saltLength: c.startsWith("PS") ? crypto.constants.RSA_PSS_SALTLEN_DIGEST : undefined, dsaEncoding: "ieee-p1363" };
            const text = url(JSON.stringify({ alg: c })) + "." + url('{"sub":"ann"}');
            const signature = crypto.createSign(hash).update(text).sign({ key, ...options });
            const verified = crypto.createVerify(hash).update(text).verify({ key: b, ...options }, signature);
            const changed = crypto.createVerify(hash).update(text + "x").verify({ key: crypto.createPublicKey(b), ...options }, signature);
            const der = c === "ES256" ? crypto.verify("sha256", "m", b, crypto.sign("sha256", Buffer.from("m"), a)) : true;
            return [utils.jwt.decode(text + "." + url(signature), b).sub, verified, changed, der, key.type, key.asymmetricKeyType];
            """, keys)
        let expected: [Value] = ["ann", .bool(true), .bool(false), .bool(true), "private", isCurve ? "ec" : "rsa"]
        #expect(result.isIdentical(to: .array(expected)), "\(result)")
    }

    @Test(arguments: ["RS256", "RS512", "PS256", "PS384", "ES256"])
    func `a token signed with a key is read with its other half`(_ method: String) throws {
        let isCurve = method.hasPrefix("ES")
        let keys: [Value] = [
            .string(isCurve ? Keys.curve : Keys.rsa), .string(isCurve ? Keys.curvePublic : Keys.rsaPublic),
            .string(method),
        ]
        #expect(
            try run("return utils.jwt.decode(utils.jwt.encode(c, { sub: 'ann' }, a), b, false, [c]);", keys)
                == ["sub": "ann"])
        let changed =
            "return utils.jwt.decode(utils.jwt.encode(c, { sub: 'ann' }, a).replace(/.$/, x => x === 'A' ? 'Q' : 'A'), b);"
        #expect(throws: FunctionFailure.self) { try run(changed, keys) }
        // The public key, which is known, must not be usable as a secret for signing.
        let confused = "return utils.jwt.decode(utils.jwt.encode('HS256', { sub: 'eve' }, b), b);"
        #expect(throws: FunctionFailure.self) { try run(confused, keys) }
    }

    @Test(arguments: [
        "fetch('http://x')", "require('fs').readFileSync('/etc/passwd')",
        "context.services.get('mongodb-atlas').db('a').collection('b').watch()",
        "context.services.get('mongodb-atlas').db('a').runCommand({})", "utils.crypto.encrypt('des', 'a', 'b')",
        "utils.jwt.encode('none', {}, '')",
    ])
    func `an unsupported feature is reported`(_ call: String) throws {
        let failure = #expect(throws: FunctionFailure.self) { try run("return await \(call);") }
        #expect(failure?.message.contains("not supported") == true)
    }
}

/// Keys for these tests only.
private enum Keys {
    static let rsa = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEowIBAAKCAQEAtTd7QCAd8Z4PHsSyj7HStytbR/qR9FXOzsPUbvT3orV278fA
        h+QJKpISdwrdFCSGiq1bZdZMLP2cWY/egwxhSo7E8PX1uFXDh4nQkelbafZJgXAn
        N6EaVmjqi3ne/XP11048CzlNTXzg8TqSNBFI2eTtPm7neyuJV93QYml6tfF7sK4o
        SqvEtbCHglWkmDpGq3e367Qg/RpR22f1JdSQLOA1KUCn2j0msBjiq2ip5omvS6SQ
        NOxQhMRoU1mexiJy7zCduLA5f4UrUQvlktmFINTidqIFcXNJjVfaKKhnh7oqSQ2j
        B3nkBuKbbapo2oZrc70919qLq7UKuwi4hw+l0wIDAQABAoIBAA77k9ak8STZbyGZ
        nLPRvXzEemsUlf2wHIWu3kEAQvsyaq9/gfUaTwG0iw9JmCbCsFcF50EfuzObElK7
        WOfX3bFm5XSQuWywtpZduB9gPl0f7krj5XItgTp0uTOn815cOI7BGqjI55HJCeYX
        9B+W8EGHsm/PhpcB7fyUS9bfJrSlK3fXVhTw8I7HNGBDJgF7Cg0bNFFs3v2RRL1s
        md5wI1XIKuWN0tIhB6hMulmj6njIp7n7ptKS2dsfThE79yJW3HPWRqlE5Qbs92kX
        lMqRx7//QbXrGkg9pIqDs+TPE+ytGh8trze0dmaLioTzSLcMqevKEV3XC4Iyyhd2
        EgblLb0CgYEA26emF2OSaS40yBywu5GBgCLZON2e678DAsfMGE6bwf84BWGQi1M7
        YMcgqATqJUQhuTeVUfP3LKEVCXgkRFuMHYk8gPsjOBT7uGTN2UIdfNgs+H5eCd5G
        61UfJX+gNPb6OKV55Nn+hrYMxWv13x5xfOxYESEAWVLkyZmcR3gQpNcCgYEA0zOh
        8stRUeeLeR7wp+RlUJQKXIk4LHUw1KFyjmM71v5RGsrj5gIcvJxXwKUcjJX5eh+F
        uHei136ehL7P8mQRTMpK1OC49Bn1vlLuU6YmrJEtcZRxzSnd1SchdxlJ7b2DgLV3
        /bRcAxmbpmg8w0OWdPHXB3EfQNDx4Sm7LUlVq2UCgYEAyvsHv0FigRQT7oCkyRBT
        TafmeGhEfbIMBDvB3Qx3XzSL/l0Eh9uoWWxqPxobjciCKXi14f/DAFjy6cc+LHU0
        6+5wHPj2uNKbMvDkUMqKGV5jYFbWa+QeQUZt++cOkyNQY5x3IgZY8P+2mZGEqmSl
        lz2IvHt0qRazGaF8C4dmSg0CgYBrLNNs6wIcRxy+3RWQjVVge496f+Oyo9GgxUDl
        wrO2GR49M2JM8Rt2Fvxs9Ry0ttJ/x4lLH+LR6h41DMNnpKImzq0Es/kHXjkXWOw6
        JKGRhqaB8auCSlGY/h98WafrbfVSlkQKycC7jf4vhsv25tBuDd9pll0evilQcqXa
        iFFiBQKBgDBNem2eGB70UbSnqDHD52U8sSm5ajKbT7fSAuS2M5ZuEbBIIfFEOLv1
        eZyIlEQsdzEZdjQx+wWsokukwkGouanX6XO6SdULQ+t+yqIt4QQLco0ukQfWorKl
        j2A8aQi/GqTqjUEScHB7bcsn3vef7NVrFaE+TjCvjZ8A4lwIJKEV
        -----END RSA PRIVATE KEY-----
        """
    static let rsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtTd7QCAd8Z4PHsSyj7HS
        tytbR/qR9FXOzsPUbvT3orV278fAh+QJKpISdwrdFCSGiq1bZdZMLP2cWY/egwxh
        So7E8PX1uFXDh4nQkelbafZJgXAnN6EaVmjqi3ne/XP11048CzlNTXzg8TqSNBFI
        2eTtPm7neyuJV93QYml6tfF7sK4oSqvEtbCHglWkmDpGq3e367Qg/RpR22f1JdSQ
        LOA1KUCn2j0msBjiq2ip5omvS6SQNOxQhMRoU1mexiJy7zCduLA5f4UrUQvlktmF
        INTidqIFcXNJjVfaKKhnh7oqSQ2jB3nkBuKbbapo2oZrc70919qLq7UKuwi4hw+l
        0wIDAQAB
        -----END PUBLIC KEY-----
        """
    static let oldRSAPublic = """
        -----BEGIN RSA PUBLIC KEY-----
        MIIBCgKCAQEAtTd7QCAd8Z4PHsSyj7HStytbR/qR9FXOzsPUbvT3orV278fAh+QJ
        KpISdwrdFCSGiq1bZdZMLP2cWY/egwxhSo7E8PX1uFXDh4nQkelbafZJgXAnN6Ea
        Vmjqi3ne/XP11048CzlNTXzg8TqSNBFI2eTtPm7neyuJV93QYml6tfF7sK4oSqvE
        tbCHglWkmDpGq3e367Qg/RpR22f1JdSQLOA1KUCn2j0msBjiq2ip5omvS6SQNOxQ
        hMRoU1mexiJy7zCduLA5f4UrUQvlktmFINTidqIFcXNJjVfaKKhnh7oqSQ2jB3nk
        BuKbbapo2oZrc70919qLq7UKuwi4hw+l0wIDAQAB
        -----END RSA PUBLIC KEY-----
        """
    static let curve = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJ7e8esLkpaaoVq3t
        5e8DJrqGpu5u4HVUhINgYRVrQDihRANCAATHrP7YwbmWky1Ev7D1JeMo5Rbsp4kY
        uWBnFj9yxEEMOq2gCGe7UCvqxc/Sqz295ih6jVVKVTJPcjv1ImKRVU0a
        -----END PRIVATE KEY-----
        """
    static let curvePublic = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEx6z+2MG5lpMtRL+w9SXjKOUW7KeJ
        GLlgZxY/csRBDDqtoAhnu1Ar6sXP0qs9veYoeo1VSlUyT3I79SJikVVNGg==
        -----END PUBLIC KEY-----
        """
    /// RSASSA-PSS of `hello`.
    static let signature =
        "SMZzTvNd/9TUN1H30woHqpdu7GPGXAiren3ILXvlaJYcHBbrXk61fimRcdnp3oWoiw+fk97zNCMtBepiZyV1DPr/Yrtg9LO1CeM79Cqb6eDvWztlxS66uoykeR0l1X2aDqB41B16Rk7mqaKJPhC0vjqB9BBxYrWF0koM4xPLChw38dKzFz7ht7WombtEx0cQe8MRQR7uphXW8ut6AdjzSkXlNbgxqAMui497QxrkPfpj9LlXDHfaGxGqOhJOEU+93Gzjo0G5N95+yXxG88xzDnh2RnEF1wN0J+KoXycYvc6HmNa6/5g2TzFFdNC45BOvhPkZ8s7Sh/6HWnkFEBIyPA=="
}
