import {
  ListMultipartUploadsCommand,
  type ListMultipartUploadsOutput,
  ListPartsCommand,
  type ListPartsOutput,
  type MultipartUpload,
  type Part,
  type S3Client,
} from '@aws-sdk/client-s3';

// The SDK has no pages for uploads, and for parts it asks on for as long as it is told a next one, which some stores
// do after the last one too.

export async function* listMultipartUploads(
  client: S3Client,
  bucket: string,
): AsyncGenerator<MultipartUpload> {
  let from: Pick<ListMultipartUploadsOutput, 'NextKeyMarker' | 'NextUploadIdMarker'> | undefined = {};
  while (from !== undefined) {
    // Without a prefix: MinIO takes one for the name of an object.
    const page: ListMultipartUploadsOutput = await client.send(
      new ListMultipartUploadsCommand({
        Bucket: bucket,
        KeyMarker: from.NextKeyMarker,
        UploadIdMarker: from.NextUploadIdMarker,
      }),
    );
    yield* page.Uploads ?? [];
    from = page.IsTruncated ? page : undefined;
  }
}

export async function* listParts(
  client: S3Client,
  upload: { Bucket: string; Key: string; UploadId: string },
): AsyncGenerator<Part> {
  let from: Pick<ListPartsOutput, 'NextPartNumberMarker'> | undefined = {};
  while (from !== undefined) {
    const page: ListPartsOutput = await client.send(
      new ListPartsCommand({ ...upload, PartNumberMarker: from.NextPartNumberMarker }),
    );
    yield* page.Parts ?? [];
    from = page.IsTruncated ? page : undefined;
  }
}
