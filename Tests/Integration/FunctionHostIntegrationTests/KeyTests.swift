import DocumentModel
import FunctionProtocol
import Testing

/// Keys in the forms that identity providers publish them. They were made, and what is expected was printed, by OpenSSL and Node 20.
struct KeyTests {
    /// A key on P-256.
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgezM87f2GXHRDASOb
        swQn9R/2pwgHvPVt8bx+h2JXEfehRANCAAQiYB1aOJ7KePswsoVZXvjqVEVNC5Il
        zco21+EcvKY0aOaddBqfCLHMjEy3YIwk7Iqj2nMHEj6TupYlkTBtYGXK
        -----END PRIVATE KEY-----
        """
    private static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHrMFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAj01UJz+IaXYQIBATAM
        BggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBAgQQef0G8rjRq+u9Nn8/SQ0HBASBkPJB
        gSqo/HTsGbM+ko6Sp5iu5iOnDZAiSHa7cN5iXVnzHsQGIznQM7Q43MU48p9CFoR8
        YQXTciQV8irE9dYLbLzX7iW3UP92vGxBcJAATDBn8DXYJB1KkXQk5gOpclj8AKQf
        J64HpRFa50tao4IUiozKfClMFB722CnpkdgGNIh4TbFFJ//B+zE4LoP+lWvypA==
        -----END ENCRYPTED PRIVATE KEY-----
        """
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbjCCARWgAwIBAgIUSI/I9WZxc72puQWjO1RUuYVI9YUwCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBdDAgFw0yNjExMjkxMjU2NTJaGA8yMTI2MTEwNTEyNTY1Mlow
        DDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCJgHVo4nsp4
        +zCyhVle+OpURU0LkiXNyjbX4Ry8pjRo5p10Gp8IscyMTLdgjCTsiqPacwcSPpO6
        liWRMG1gZcqjUzBRMB0GA1UdDgQWBBRumn3riqweTvENTSmFXbjncRv0MDAfBgNV
        HSMEGDAWgBRumn3riqweTvENTSmFXbjncRv0MDAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0cAMEQCIAVajVasIyGnxbwRoOB1MqzCK5YtRsN5GPg11ugXREXt
        AiBYOcC43iFCAVjpDvFnKkjeuxxvzrkuS3oWUgngUNqwpQ==
        -----END CERTIFICATE-----
        """
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEImAdWjieynj7MLKFWV746lRFTQuS
        Jc3KNtfhHLymNGjmnXQanwixzIxMt2CMJOyKo9pzBxI+k7qWJZEwbWBlyg==
        -----END PUBLIC KEY-----

        """
    private static let jwk: Document = [
        "kty": "EC", "crv": "P-256", "x": "ImAdWjieynj7MLKFWV746lRFTQuSJc3KNtfhHLymNGg",
        "y": "5p10Gp8IscyMTLdgjCTsiqPacwcSPpO6liWRMG1gZco",
    ]
    private static let rsaJWK: Document = [
        "kty": "RSA", "e": "AQAB",
        "n":
            "7KRrl17Ed7i2H7tkEMwSK5YF_uX-XrYyOj47ii2wrUTG2qMJcoi0Gvy6kHut0ES06a4fcm9fwWjXjDUYPLgSagM1WmjMYZOZmCNwa-SexEv1JB9wN5iHafPSQmrRaPvtSlgysXkp9hg9Mda_TFibQh6xMwDV1lF2UOozkRYfdTs",
    ]
    private static let rsaPublicKey = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDspGuXXsR3uLYfu2QQzBIrlgX+
        5f5etjI6PjuKLbCtRMbaowlyiLQa/LqQe63QRLTprh9yb1/BaNeMNRg8uBJqAzVa
        aMxhk5mYI3Br5J7ES/UkH3A3mIdp89JCatFo++1KWDKxeSn2GD0x1r9MWJtCHrEz
        ANXWUXZQ6jORFh91OwIDAQAB
        -----END PUBLIC KEY-----

        """

    @Test func `a public key comes from a certificate, a JWK, DER and its private key`() throws {
        let host = try TestHost([
            "f": """
            exports = (key, certificate, jwk, rsa) => {
              const { createPublicKey, createPrivateKey } = require("crypto"), spki = { type: "spki", format: "pem" };
              const der = createPublicKey(certificate).export({ type: "spki", format: "der" });
              return [createPublicKey(certificate), createPublicKey(key), createPublicKey(createPrivateKey(key)),
                createPublicKey({ key: jwk, format: "jwk" }), createPublicKey({ key: der, format: "der", type: "spki" }),
                createPublicKey({ key: rsa, format: "jwk" })].map(one => one.export(spki));
            }
            """
        ])
        let result = try host.call(
            "f",
            [.string(Self.key), .string(Self.certificate), .document(Self.jwk), .document(Self.rsaJWK)]
        ).get()
        #expect(result == .array(Array(repeating: .string(Self.publicKey), count: 5) + [.string(Self.rsaPublicKey)]))
    }

    @Test func `what an encrypted key signs is verified with the certificate and the JWK`() throws {
        let host = try TestHost([
            "f": """
            exports = (encrypted, certificate, jwk, passphrase) => {
              const crypto = require("crypto");
              const signature = crypto.createSign("SHA256").update("text").sign({ key: encrypted, passphrase });
              const verify = (key, text) => crypto.createVerify("SHA256").update(text).verify(key, signature);
              return [verify(certificate, "text"), verify({ key: jwk, format: "jwk" }, "text"), verify(certificate, "other")];
            }
            """
        ])
        func sign(_ passphrase: String) throws -> Result<Value, FunctionFailure> {
            try host.call(
                "f", [.string(Self.encrypted), .string(Self.certificate), .document(Self.jwk), .string(passphrase)])
        }
        #expect(try sign("secret").get() == [true, true, false])
        guard case .failure(let failure) = try sign("guess") else { return #expect(Bool(false), "it signs") }
        #expect(failure.message.contains("its passphrase is another one"))
    }

    @Test func `an export that isn't served says so, and packages may look for what isn't there`() throws {
        let host = try TestHost([
            "f": """
            exports = key => {
              const crypto = require("crypto"), held = crypto.createPrivateKey(key);
              const refused = [{ format: "jwk" }, { type: "sec1", format: "pem" }].map(options => {
                try { return held.export(options) } catch (error) { return error.message }
              });
              require("util").promisify(crypto.generateKeyPair);
              try { crypto.generateKeyPairSync("rsa") } catch (error) { refused.push(error.message) }
              return [...refused, held.export({ type: "pkcs8", format: "pem" })];
            }
            """
        ])
        let result = try host.call("f", [.string(Self.key)]).get().arrayValue ?? []
        #expect(result.prefix(3).allSatisfy { $0.stringValue?.contains("is not supported") == true }, "\(result)")
        #expect(result.last?.stringValue == Self.key + "\n")
    }
}
