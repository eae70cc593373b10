import DocumentModel
import FunctionProtocol
import HTTPClient

/// The result of an action of S3, with the names and types of AWS' SDK for Go.
struct S3Result {
    let document: Document

    /// Headers of the answer by the fields of the result.
    private static let texts = [
        ("AcceptRanges", "accept-ranges"), ("CacheControl", "cache-control"),
        ("ContentDisposition", "content-disposition"), ("ContentEncoding", "content-encoding"),
        ("ContentLanguage", "content-language"), ("ContentRange", "content-range"), ("ContentType", "content-type"),
        ("ETag", "etag"), ("Expiration", "x-amz-expiration"), ("Expires", "expires"),
        ("SSEKMSKeyId", "x-amz-server-side-encryption-aws-kms-key-id"),
        ("ServerSideEncryption", "x-amz-server-side-encryption"), ("StorageClass", "x-amz-storage-class"),
        ("VersionId", "x-amz-version-id"), ("WebsiteRedirectLocation", "x-amz-website-redirect-location"),
    ]
    private static let lists = ["Contents", "CommonPrefixes"]
    private static let numbers = ["KeyCount", "MaxKeys", "Size"]

    /// - Throws: `EffectFailure` when the answer isn't the action's.
    init(_ action: S3Action, _ response: HTTPClient.Response, of name: String) throws {
        switch action.name {
        case "GetObject", "HeadObject":
            var result = Self.fields(response)
            if action.method == "GET" { result["Body"] = .binary(Binary(response.body)) }
            document = result
        case "CopyObject", "ListObjects", "ListObjectsV2":
            guard let root = XMLElement(response.body) else { throw AWSCall.failure("\(name): the answer is no XML") }
            // A copy that fails while it is made is answered with 200 and an error.
            guard root.name != "Error" else { throw AWSFailure(response).effectFailure(of: name) }
            let content = Self.document(root)
            document = action.name == "CopyObject" ? ["CopyObjectResult": .document(content)] : content
        default:
            document = Document(
                fields: Self.fields(response).fields.filter {
                    !["ContentType", "ContentLength", "AcceptRanges"].containsExactly($0.key)
                })
        }
    }

    private static func fields(_ response: HTTPClient.Response) -> Document {
        var result = Document()
        for (field, header) in texts { result[field] = response[header: header].map { .string($0) } }
        result["ContentLength"] = response[header: "content-length"].flatMap { Int64($0) }.map { .int64($0) }
        result["LastModified"] = response[header: "last-modified"].flatMap(HTTPDate.milliseconds).map { .date($0) }
        let prefix = "x-amz-meta-"
        var metadata = Document()
        for header in response.headers where header.name.lowercased().startsWithBytes(of: prefix) {
            // As Go writes the names of headers.
            let words = header.name.lowercased().dropFirst(prefix.count).split(
                separator: "-", omittingEmptySubsequences: false)
            metadata[words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: "-")] = .string(
                header.value)
        }
        if !metadata.isEmpty { result["Metadata"] = .document(metadata) }
        return result
    }

    private static func document(_ element: XMLElement) -> Document {
        var result = Document()
        for child in element.children {
            let value = value(child)
            if lists.containsExactly(child.name) {
                result[child.name] = .array((result[child.name]?.arrayValue ?? []) + [value])
            } else {
                result[child.name] = value
            }
        }
        return result
    }

    private static func value(_ element: XMLElement) -> Value {
        if !element.children.isEmpty { return .document(document(element)) }
        if numbers.containsExactly(element.name), let number = Int64(element.text) { return .int64(number) }
        if element.name == "IsTruncated" { return .bool(element.text == "true") }
        if element.name == "LastModified", let time = ISODate.milliseconds(element.text) { return .date(time) }
        return .string(element.text)
    }
}
