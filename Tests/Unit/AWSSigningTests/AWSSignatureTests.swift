import AWSSigning
import Foundation
import Testing

/// The examples of docs.aws.amazon.com, "Authenticating Requests (AWS Signature Version 4)", and of AWS's test suite for signers
/// (`aws-sig-v4-test-suite`).
struct AWSSignatureTests {
    private let signature = AWSSignature(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")
    private let instant = AWSSignature.Instant(Date(timeIntervalSince1970: 1_369_353_600))
    private let host = "examplebucket.s3.amazonaws.com"

    @Test func `a presigned GET has the published signature`() {
        let query = signature.presignedQuery(method: "GET", host: host, path: "/test.txt", seconds: 86400, at: instant)
        #expect(query.contains("X-Amz-Date=20130524T000000Z"))
        #expect(query.hasSuffix("&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"))
    }

    @Test func `a GET with a range header has the published signature`() {
        let headers = signature.headers(
            method: "GET", host: host, path: "/test.txt", headers: [("range", "bytes=0-9")],
            bodyDigest: SHA256.hex([]), at: instant)
        #expect(authorization(headers).hasSuffix("f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))
    }

    @Test func `a PUT with a character to encode has the published signature`() {
        let headers = signature.headers(
            method: "PUT", host: host, path: "/test$file.text",
            headers: [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            bodyDigest: SHA256.hex(Array("Welcome to Amazon S3.".utf8)), at: instant)
        #expect(authorization(headers).hasSuffix("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    }

    @Test func `a listing with query parameters has the published signature`() {
        let headers = signature.headers(
            method: "GET", host: host, path: "/", query: [("prefix", "J"), ("max-keys", "2")],
            bodyDigest: SHA256.hex([]), at: instant)
        #expect(authorization(headers).hasSuffix("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
    }

    /// One case of the test suite.
    struct Published: Sendable {
        let name: String
        var method = "GET"
        var path = "/"
        var query: [(String, String)] = []
        var headers: [(String, String)] = []
        var body = ""
        let signature: String
    }

    @Test(arguments: [
        Published(name: "get-vanilla", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Published(
            name: "get-vanilla-query-order-key-case", query: [("Param2", "value2"), ("Param1", "value1")],
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        Published(
            name: "get-unreserved", path: "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
        Published(
            name: "get-header-value-trim", headers: [("my-header1", " value1"), ("my-header2", " \"a   b   c\"")],
            signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
        Published(
            name: "post-vanilla", method: "POST",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Published(
            name: "post-x-www-form-urlencoded", method: "POST",
            headers: [("content-type", "application/x-www-form-urlencoded")], body: "Param1=value1",
            signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
    ])
    func `a case of the test suite has the published signature`(_ published: Published) {
        let signature = AWSSignature(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1",
            service: "service")
        let headers = signature.headers(
            method: published.method, host: "example.amazonaws.com", path: published.path, query: published.query,
            headers: published.headers, bodyDigest: SHA256.hex(Array(published.body.utf8)),
            at: .init(Date(timeIntervalSince1970: 1_440_938_160)))
        #expect(authorization(headers).hasSuffix("Signature=\(published.signature)"), "\(published.name)")
        #expect(!headers.contains { $0.0 == "x-amz-content-sha256" })
    }

    private func authorization(_ headers: [(String, String)]) -> String {
        headers.first { $0.0 == "authorization" }?.1 ?? ""
    }
}
