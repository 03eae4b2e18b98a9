import {
  ListMultipartUploadsCommand,
  type ListMultipartUploadsOutput,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';

/** All multipart uploads of a bucket that are open, page by page; the SDK has no pages for them. */
export async function* listMultipartUploads(
  client: S3Client,
  bucket: string,
): AsyncGenerator<MultipartUpload> {
  let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
  while (marker !== undefined) {
    // Without a prefix: MinIO takes one for the name of an object.
    const page: ListMultipartUploadsOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket: bucket, ...marker }),
    );
    yield* page.Uploads ?? [];
    marker = page.IsTruncated ? nextOf(page) : undefined;
  }
}

function nextOf(page: ListMultipartUploadsOutput) {
  return {
    ...(page.NextKeyMarker === undefined ? {} : { KeyMarker: page.NextKeyMarker }),
    ...(page.NextUploadIdMarker === undefined ? {} : { UploadIdMarker: page.NextUploadIdMarker }),
  };
}
