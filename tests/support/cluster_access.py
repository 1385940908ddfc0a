"""How somebody who was given the keys of a cluster connects to it."""

import dask


def keys_of(client):
    """Return a context in which Dask's configuration holds the keys of a cluster."""
    keys = client.security
    return dask.config.set(
        {
            "distributed.comm.tls.ca-file": keys.tls_ca_file,
            "distributed.comm.tls.client.key": keys.tls_client_key,
            "distributed.comm.tls.client.cert": keys.tls_client_cert,
            "distributed.comm.require-encryption": True,
        }
    )
