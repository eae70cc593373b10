import DocumentModel

/// An interface of AWS that functions call by the name that it has in AWS' SDK for Go, as in
/// `context.services.get("aws").ses("eu-west-1").SendEmail({…})`. All that call actions in one of the protocols below are served alike.
public struct AWSInterface: Sendable {
    /// How an action is called.
    public enum Dialect: Sendable {
        /// S3's own: a method, a path, headers.
        case s3
        /// AWS Lambda's own.
        case lambda
        /// A form with `Action` and `Version`, answered in XML.
        case query(version: String)
        /// JSON, with the action in the header `X-Amz-Target`.
        case json(version: String, target: String)
    }

    public let name: String
    /// The first label of its host name.
    public let host: String
    /// Its name in signatures.
    public let signingName: String
    public let dialect: Dialect
    /// The actions that are served, by their names in AWS' SDK for Go; `nil`: all.
    public let actions: [String]?
    /// The paths of arguments and results that are bytes, which travel as Base64.
    public let blobs: Set<ExactText>

    private init(
        _ name: String, host: String? = nil, signingName: String? = nil, _ dialect: Dialect, actions: [String]? = nil,
        blobs: Set<ExactText> = []
    ) {
        self.name = name
        self.host = host ?? name
        self.signingName = signingName ?? name
        self.dialect = dialect
        self.actions = actions
        self.blobs = blobs
    }

    public static let served: [AWSInterface] = [
        .init("athena", .json(version: "1.1", target: "AmazonAthena")),
        .init("cloudwatch", host: "monitoring", signingName: "monitoring", .query(version: "2010-08-01")),
        .init("comprehend", .json(version: "1.1", target: "Comprehend_20171127")),
        .init(
            "firehose", .json(version: "1.1", target: "Firehose_20150804"), blobs: ["Record.Data", "Records.Data"]),
        .init("kinesis", .json(version: "1.1", target: "Kinesis_20131202"), blobs: ["Data", "Records.Data"]),
        .init("lambda", .lambda, actions: ["Invoke"]),
        .init(
            "rekognition", .json(version: "1.1", target: "RekognitionService"),
            blobs: ["Image.Bytes", "SourceImage.Bytes", "TargetImage.Bytes"]),
        .init(
            "s3", .s3,
            actions: [
                "CopyObject", "DeleteObject", "GetObject", "HeadObject", "ListObjects", "ListObjectsV2", "PresignURL",
                "PutObject",
            ]),
        .init("ses", host: "email", .query(version: "2010-12-01"), blobs: ["RawMessage.Data"]),
        .init("sfn", host: "states", signingName: "states", .json(version: "1.0", target: "AWSStepFunctions")),
        .init("sns", .query(version: "2010-03-31")),
        .init("sqs", .json(version: "1.0", target: "AmazonSQS")),
        .init("textract", .json(version: "1.1", target: "Textract"), blobs: ["Document.Bytes"]),
    ]

    /// The names of the interfaces that Atlas served and that aren't served here.
    public static let unserved: [String] = [
        "batch", "ec2", "glacier", "iot", "lexruntimeservice", "machinelearning", "mobileanalytics", "polly", "rds",
        "redshift",
    ]

    /// Actions of S3 and Lambda that functions may name and that aren't served.
    static let unservedActions: [String] = [
        "AbortMultipartUpload", "AddPermission", "CompleteMultipartUpload", "CreateBucket", "CreateFunction",
        "CreateMultipartUpload", "DeleteBucket", "DeleteBucketPolicy", "DeleteFunction", "DeleteObjectTagging",
        "DeleteObjects", "GetBucketAcl", "GetBucketCors", "GetBucketLocation", "GetBucketPolicy", "GetFunction",
        "GetObjectAcl", "GetObjectAttributes", "GetObjectTagging", "HeadBucket", "InvokeAsync", "ListBuckets",
        "ListFunctions", "ListMultipartUploads", "ListObjectVersions", "ListParts", "PutBucketAcl", "PutBucketCors",
        "PutBucketPolicy", "PutObjectAcl", "PutObjectTagging", "RestoreObject", "SelectObjectContent",
        "UpdateFunctionCode", "UploadPart", "UploadPartCopy",
    ]

    /// Whether an action of the interface is served.
    public func serves(_ action: String) -> Bool { actions?.containsExactly(action) ?? true }

    /// The interface of this name; `nil` when it isn't served.
    public static func named(_ name: String) -> AWSInterface? { served.first { $0.name.hasSameBytes(as: name) } }
}
