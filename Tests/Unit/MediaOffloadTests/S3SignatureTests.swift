import Foundation
import Testing

@testable import MediaOffload

/// The examples of docs.aws.amazon.com, "Authenticating Requests (AWS Signature Version 4)".
struct S3SignatureTests {
    private let signature = S3Signature(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")
    private let instant = S3Signature.Instant(Date(timeIntervalSince1970: 1_369_353_600))
    private let host = "examplebucket.s3.amazonaws.com"

    @Test func `the instant has the protocol's form`() {
        #expect(instant.text == "20130524T000000Z")
    }

    @Test func `a presigned GET has the published signature`() {
        let query = signature.presignedQuery(method: "GET", host: host, path: "/test.txt", seconds: 86400, at: instant)
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

    private func authorization(_ headers: [(String, String)]) -> String {
        headers.first { $0.0 == "authorization" }?.1 ?? ""
    }
}
