import DocumentModel

/// An action of S3 that is served: how its arguments, which have the names of AWS' SDK for Go, become a request, and the answer's headers a
/// result.
struct S3Action: Sendable {
    let name: String
    let method: String
    let needsKey: Bool
    var takesBody = false
    /// Headers and parameters of the query by the arguments that they are made of.
    var headers: [ExactText: String] = [:]
    var query: [ExactText: String] = [:]
    /// Parameters that the action always has.
    var fixedQuery: [(String, String)] = []

    static func named(_ name: String) -> S3Action? { all.first { $0.name.hasSameBytes(as: name) } }

    private static let content: [ExactText: String] = [
        "ACL": "x-amz-acl", "CacheControl": "cache-control", "ContentDisposition": "content-disposition",
        "ContentEncoding": "content-encoding", "ContentLanguage": "content-language", "ContentType": "content-type",
        "Expires": "expires", "GrantFullControl": "x-amz-grant-full-control", "GrantRead": "x-amz-grant-read",
        "GrantReadACP": "x-amz-grant-read-acp", "GrantWriteACP": "x-amz-grant-write-acp",
        "SSEKMSKeyId": "x-amz-server-side-encryption-aws-kms-key-id",
        "ServerSideEncryption": "x-amz-server-side-encryption", "StorageClass": "x-amz-storage-class",
        "Tagging": "x-amz-tagging", "WebsiteRedirectLocation": "x-amz-website-redirect-location",
    ]
    private static let conditions: [ExactText: String] = [
        "IfMatch": "if-match", "IfModifiedSince": "if-modified-since", "IfNoneMatch": "if-none-match",
        "IfUnmodifiedSince": "if-unmodified-since", "Range": "range",
    ]
    private static let common: [ExactText: String] = [
        "ExpectedBucketOwner": "x-amz-expected-bucket-owner", "RequestPayer": "x-amz-request-payer",
    ]
    private static let reading: [ExactText: String] = [
        "ResponseCacheControl": "response-cache-control",
        "ResponseContentDisposition": "response-content-disposition",
        "ResponseContentEncoding": "response-content-encoding",
        "ResponseContentLanguage": "response-content-language", "ResponseContentType": "response-content-type",
        "VersionId": "versionId",
    ]
    private static let listing: [ExactText: String] = [
        "Delimiter": "delimiter", "EncodingType": "encoding-type", "MaxKeys": "max-keys", "Prefix": "prefix",
    ]

    private static func joined(_ tables: [ExactText: String]...) -> [ExactText: String] {
        tables.reduce(into: [:]) { $0.merge($1) { $1 } }
    }

    private static let all: [S3Action] = [
        S3Action(
            name: "PutObject", method: "PUT", needsKey: true, takesBody: true,
            headers: joined(
                content, common, ["ContentMD5": "content-md5", "IfMatch": "if-match", "IfNoneMatch": "if-none-match"])),
        S3Action(
            name: "GetObject", method: "GET", needsKey: true, headers: joined(conditions, common), query: reading),
        S3Action(
            name: "HeadObject", method: "HEAD", needsKey: true, headers: joined(conditions, common),
            query: ["VersionId": "versionId"]),
        S3Action(
            name: "DeleteObject", method: "DELETE", needsKey: true, headers: common,
            query: ["VersionId": "versionId"]),
        S3Action(
            name: "CopyObject", method: "PUT", needsKey: true,
            headers: joined(
                content, common,
                [
                    "CopySource": "x-amz-copy-source", "MetadataDirective": "x-amz-metadata-directive",
                    "TaggingDirective": "x-amz-tagging-directive",
                ])),
        S3Action(
            name: "ListObjects", method: "GET", needsKey: false, headers: common,
            query: joined(listing, ["Marker": "marker"])),
        S3Action(
            name: "ListObjectsV2", method: "GET", needsKey: false, headers: common,
            query: joined(
                listing,
                [
                    "ContinuationToken": "continuation-token", "FetchOwner": "fetch-owner",
                    "StartAfter": "start-after",
                ]), fixedQuery: [("list-type", "2")]),
    ]
}
