import AWSSigning
import EventLoop
import HTTPClient
import ServiceBootstrap

/// The keys of an S3-compatible object store.
struct S3Settings: Sendable {
    static let endpoint = ConfigurationKey<String>.url(
        "s3.endpoint", schemes: ["http", "https"], isBase: true,
        "The object store, `https://host[:port]`; without it objects are files."
    ).optional
    static let bucket = ConfigurationKey<String>.string(
        "s3.bucket", default: "partita", "The bucket, created if it is missing.")
    static let region = ConfigurationKey<String>.string(
        "s3.region", default: "us-east-1", "The region that requests are signed for.")
    static let accessKey = ConfigurationKey<String>.string(
        "s3.access-key", default: "", isSecret: true, "The id of the access key.")
    static let secretKey = ConfigurationKey<String>.string(
        "s3.secret-key", default: "", isSecret: true, "The secret of the access key.")
    static let authorities = ConfigurationKey<String>.file(
        "s3.tls-ca",
        "A PEM file with the authorities for checking the object store's certificate. By default, the system's."
    ).optional

    static let keys = [
        endpoint.description, bucket.description, region.description, accessKey.description, secretKey.description,
        authorities.description,
    ]

    let endpoint: String
    let bucket: String
    let signature: AWSSignature
    /// A file of certificates to trust instead of the system's.
    let authorities: String?

    /// `nil` when no object store is configured.
    init?(_ configuration: Configuration) {
        guard let endpoint = configuration[Self.endpoint] else { return nil }
        self.endpoint = endpoint
        bucket = configuration[Self.bucket]
        signature = AWSSignature(
            accessKey: configuration[Self.accessKey], secretKey: configuration[Self.secretKey],
            region: configuration[Self.region])
        authorities = configuration[Self.authorities]
    }

    func storage(on loop: EventLoop) -> S3ObjectStorage {
        var configuration = HTTPClient.Configuration()
        configuration.certificateAuthorityFile = authorities
        let client = HTTPClient(loop: loop, configuration: configuration)
        return S3ObjectStorage(client: client, endpoint: endpoint, bucket: bucket, signature: signature)
    }
}
