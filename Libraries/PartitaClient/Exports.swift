// An app that imports PartitaClient also gets the value types of documents, and the sync types that this API returns.
@_exported import DocumentModel
@_exported import SyncEngine
